"""Micro-batches, and texts beside each other."""

# N texts, T places, V vocabulary

from grader.checks.compare import compare, number
from grader.testing import Failure

N, T, V = 4, 6, 5
MANY, FEW = 24, 8


def texts(gaussian):
    """Tokens in an order that differs from run to run; the second text is all but empty."""
    tokens = gaussian(N, T, V).argmax(dim=-1)
    tokens[1, 2:] = -100
    return tokens


def test_a_count_divides(subject, gaussian):
    loss = subject()
    inputs = {"logits": gaussian(N, T, V), "tokens": texts(gaussian)}
    many, few = float(loss(**inputs, counted=MANY)), float(loss(**inputs, counted=FEW))
    if not abs(many * MANY - few * FEW) < 1e-3 * abs(few * FEW):  # the ratio of two zeros proves nothing
        raise Failure(
            "count",
            f"the same texts, counted={MANY} and counted={FEW}: expected the second to be {MANY // FEW} times "
            f"the first, got {number(many)} and {number(few)}",
            code=f"abs(outs[0] * {MANY} - outs[1] * {FEW}) < 1e-3 * abs(outs[1] * {FEW})",
        )


def test_pieces_add_up_to_the_whole(subject, reference, gaussian):
    ours, theirs = subject(), reference()
    logits, tokens = gaussian(N, T, V), texts(gaussian)
    pieces = [(0, 1), (1, 2), (2, N)]
    total = sum(ours(logits=logits[a:b], tokens=tokens[a:b], counted=MANY) for a, b in pieces)
    whole = theirs(logits=logits, tokens=tokens, counted=MANY)
    compare(total, whole, "the losses of all micro-batches, added up: loss")
