"""The sealed student edition refuses every wrong fix that the course refuses."""

import pytest

from grader.author.release import release
from grader.checks.recording import Recording
from grader.spec.paths import Course
from grader.spec.wrong_fixes import WrongFix, load_wrong_fixes
from grader.submission import submission_from_text
from grader.verdict.attribution import DefectStatus
from grader.verdict.judge import open_judge
from grader.verdict.verdict import Result, Verdict
from tests.support.forgetting import forget_descriptions
from tests.support.paths import CORPUS

EXERCISES = sorted(path.stem for path in (CORPUS / "wrong_fixes").glob("*.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_no_wrong_fix_is_called_fixed_at_home(course, tmp_path, exercise_id):
    """At any recorded seed."""
    release(course, tmp_path / "out", only=(exercise_id,))
    edition = Course(root=tmp_path / "out")
    fixes = load_wrong_fixes(course, exercise_id)

    forget_descriptions()
    with open_judge(edition) as judge:
        fixed = {
            fix.name
            for seed in Recording(edition.answers(exercise_id)).seeds
            for fix in fixes
            if is_called_fixed(judge(exercise_id, submission_from_text(fix.text), "attention.py", seed), fix)
        }

    assert fixed == set()


def is_called_fixed(verdict: Verdict, fix: WrongFix) -> bool:
    """Return whether the verdict takes nothing off; the course takes only extra points off some wrong fixes."""
    is_each_fixed = all(defect.status is DefectStatus.FIXED for defect in verdict.defects)
    return verdict.outcome is Result.FIXED and (is_each_fixed or not fix.expect.extra_only)
