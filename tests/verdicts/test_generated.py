"""Right submissions that were rewritten by rules pass, and mutated ones do not: a sample of what the script makes."""

from itertools import cycle

import pytest

from tests.support.generated import misjudged
from tests.support.judging import Judge

EXERCISES = [f"exercise_{number:02}" for number in range(1, 8)]
SAMPLE = 4
SEEDS = 2


@pytest.mark.slow
@pytest.mark.parametrize(("exercise_id", "kind"), [*zip(EXERCISES, cycle(["wrong", "right"]), strict=False)])
def test_no_right_submission_is_refused_and_no_wrong_one_passes(judge_text: Judge, exercise_id: str, kind: str) -> None:
    found = [(each.origin, each.text) for each, _ in misjudged(judge_text, kind, exercise_id, SAMPLE, SEEDS)]
    assert found == []
