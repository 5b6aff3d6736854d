"""Right submissions that were rewritten by rules pass, and mutated ones do not, nor those wrong in one calling
variant alone.

A sample of what the script makes, whose run of the whole prints its counts.
"""

from itertools import cycle

import pytest

from tests.support.generated import misjudged
from tests.support.judging import Judge

EXERCISES = [f"exercise_{number:02}" for number in range(1, 38)]
SAMPLE = {"wrong": 4, "right": 4, "calling variant": 20}
SEEDS = {"wrong": 2, "right": 2, "calling variant": 1}


@pytest.mark.slow
@pytest.mark.parametrize(("exercise_id", "kind"), [*zip(EXERCISES, cycle(SAMPLE), strict=False)])
def test_no_right_submission_is_refused_and_no_wrong_one_passes(judge_text: Judge, exercise_id: str, kind: str) -> None:
    found = misjudged(judge_text, kind, exercise_id, SAMPLE[kind], SEEDS[kind])
    assert [(each.origin, each.text) for each, _ in found] == []
