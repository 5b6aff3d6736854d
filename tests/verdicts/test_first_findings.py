"""Pages of starters lead with the plainest check that shows a defect."""

import pytest

from grader.checks.outcome import Finding
from grader.report.causes import group_causes
from grader.spec.paths import Course
from tests.support.judging import Judge
from tests.support.paths import ROOT
from tests.support.sampling import sampled


@pytest.mark.parametrize("exercise_id", sampled(Course(root=ROOT).exercise_ids(), also=["exercise_04", "exercise_06"]))
def test_no_check_of_large_sizes_leads_where_a_smaller_one_shows_the_defect(
    judge_text: Judge, exercise_id: str
) -> None:
    starter, _ = judge_text.course.editable_files(exercise_id)
    verdict = judge_text(exercise_id, starter.read_text(encoding="utf-8"))
    findings = {outcome.check: outcome.finding for outcome in verdict.checks}

    for cause in group_causes(verdict):
        if not all(is_large(findings[check]) for check in cause.checks):
            assert not is_large(cause.finding), cause.checks


def is_large(finding: Finding | None) -> bool:
    return finding is not None and finding.sizes is not None and finding.sizes.is_large
