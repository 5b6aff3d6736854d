"""Where the window ends."""

# T words, D dim

from grader.checks.compare import compare, number
from grader.checks.tolerances import UNCHANGED
from grader.testing import Failure

D, WINDOW = 6, 3
ARGUMENTS = {"dim": D, "n_heads": 1, "n_kv_heads": 1, "window": WINDOW}


def influence(subject, reference, gaussian, words):
    """Return how far the last word's output moves when the first word changes."""
    x = gaussian(1, words, D)  # (1, T, D)
    other = x.clone()
    other[:, 0] = gaussian(1, D)
    module = subject.build(ARGUMENTS, like=reference(**ARGUMENTS))
    return float((module(x=other) - module(x=x))[:, -1].abs().max())


def test_the_last_word_of_the_window_counts(subject, reference, gaussian):
    moved = influence(subject, reference, gaussian, WINDOW)
    if not moved > UNCHANGED.absolute:
        raise Failure(
            "influence",
            f"{WINDOW} words, window={WINDOW}, another first word: expected another output at the last word, got the "
            "same",
            code=f"(outs[1] - outs[0])[:, -1].abs().max() > {UNCHANGED.absolute:g}",
        )


def test_a_word_behind_the_window_does_not_count(subject, reference, gaussian):
    moved = influence(subject, reference, gaussian, WINDOW + 1)
    if not moved <= UNCHANGED.absolute:
        raise Failure(
            "influence",
            f"{WINDOW + 1} words, window={WINDOW}, another first word: expected the same output at the last word, but "
            f"it moved by up to {number(moved)}",
            code=f"(outs[1] - outs[0])[:, -1].abs().max() <= {UNCHANGED.absolute:g}",
        )


def test_every_layer_keeps_its_own_window(subject, reference, gaussian):
    x = gaussian(1, WINDOW + 1, D)
    for window in (WINDOW, WINDOW - 1, WINDOW + 1):
        arguments = {**ARGUMENTS, "window": window}
        theirs = reference.build(arguments)
        ours = subject.build(arguments, like=theirs)
        compare(ours(x=x), theirs(x=x), f"window={window}, after a layer with another window: output")
