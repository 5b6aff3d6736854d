"""A finite difference across the kink of a ReLU refuses no right module."""

import pytest

from grader.verdict.verdict import Result
from tests.support.judging import Judge

SEEDS = (1141, 1212, 1308)
"""Seeds at which steps of 1e-3 crossed a kink along five of six directions."""


@pytest.mark.parametrize("seed", SEEDS)
def test_the_reference_is_right_at_seeds_with_many_kinks(judge_text: Judge, seed: int) -> None:
    reference = judge_text.course.reference("exercise_26")
    assert judge_text("exercise_26", reference.read_text(encoding="utf-8"), seed=seed).outcome is Result.FIXED
