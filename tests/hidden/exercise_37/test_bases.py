"""Bases of all kinds, with many heads, and training after a call without gradients."""

# B batch, T words

from grader.checks.compare import compare, compare_gradients

B, T, D = 2, 40, 6
SETTINGS = ((1.5, 8), (2.75, 6), (300.25, 9), (2_000_000.0, 12))
PROBE = """
class Variation(submission.TurnedAttention):
    def look(self, x):
        with torch.inference_mode():
            self(x)
"""
ALONE = {"width": 16, "heads": 2, "base": 31.0}
"""No other check has this base, nor as many words as `WORDS`."""
WORDS = 29


def test_every_base_with_many_heads(subject, reference, gaussian):
    for base, heads in SETTINGS:
        arguments = {"width": heads * D, "heads": heads, "base": base}
        theirs = reference.build(arguments)
        ours = subject.build(arguments, like=theirs)
        x = gaussian(B, T, heads * D)
        compare(ours(x=x), theirs(x=x), f"base={base:g}, heads={heads}: output")


def test_training_after_a_first_call_under_inference_mode(subject, reference, gaussian):
    theirs = reference.build(ALONE, probe=PROBE, entry="Variation")
    ours = subject.build(ALONE, like=theirs, probe=PROBE, entry="Variation")
    x = gaussian(B, WORDS, ALONE["width"])
    ours.call("look", x=x)
    ours.training = theirs.training = True
    expected = theirs.differentiate(None, x=x)
    observed = ours.differentiate(expected.cotangents, x=x)
    compare(observed.value, expected.value, "after a call under inference_mode, in training mode: output")
    compare_gradients(observed.parameters, expected.parameters)
