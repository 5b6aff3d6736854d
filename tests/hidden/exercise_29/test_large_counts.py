"""Large counts."""

# N texts, T places, V vocabulary

from grader.checks.compare import compare
from grader.checks.tolerances import FLOAT64

N, T, V = 3, 4, 5
COUNTS = (2_049, 100_003, 16_777_217)
"""Whole numbers that short floats do not have, the last one not even float32."""


def test_large_counts(subject, reference, gaussian):
    ours, theirs = subject(), reference()
    inputs = {"logits": gaussian(N, T, V).double(), "tokens": gaussian(N, T, V).argmax(dim=-1)}
    for counted in COUNTS:
        seen, expected = (each(**inputs, counted=counted) for each in (ours, theirs))
        compare(seen, expected, f"counted={counted}, in float64: loss", FLOAT64)
        compare(counted * seen, counted * expected, f"counted={counted}, in float64: the loss times counted", FLOAT64)
