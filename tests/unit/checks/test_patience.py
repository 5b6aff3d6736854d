"""The reference and its variants get extra time, so that a busy machine does not make them fail."""

import re

import pytest

from grader.verdict.verdict import Result
from tests.support.judging import Judge

EXERCISE = "exercise_06"


@pytest.mark.slow
def test_a_reference_that_takes_longer_than_a_submission_may_is_not_called_broken(own_course) -> None:
    description = own_course.description(EXERCISE)
    text = description.read_text(encoding="utf-8")
    assert "limits:" not in text
    description.write_text(text + "\nlimits: {seconds: {total: 0.05}}\n", encoding="utf-8")
    reference = own_course.reference(EXERCISE)
    slow = re.sub(
        r"(?m)^import torch$", "import torch\nimport time\ntime.sleep(0.15)", reference.read_text(encoding="utf-8")
    )
    assert "sleep" in slow
    reference.write_text(slow, encoding="utf-8")
    judge = Judge(own_course)
    try:
        verdict = judge(EXERCISE, slow)
    finally:
        judge.close()
    assert verdict.outcome in (Result.NOT_FIXED, Result.NOT_GRADABLE)  # a submission gets no extra time
