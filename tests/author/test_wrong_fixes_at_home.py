"""The sealed student edition refuses every wrong fix that the course refuses, except the listed ones."""

import pytest

from grader.author.release import release
from grader.checks.recording import Recording
from grader.spec.paths import Course
from grader.spec.wrong_fixes import WrongFix, load_wrong_fixes
from grader.submission import submission_from_text
from grader.verdict.attribution import DefectStatus
from grader.verdict.judge import open_judge
from grader.verdict.verdict import Result, Verdict
from tests.support.paths import CORPUS

FOLDER = CORPUS / "wrong_fixes"
EXERCISES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
LISTED = [
    line for line in (FOLDER / "fixed_at_home.txt").read_text(encoding="utf-8").splitlines() if not line.startswith("#")
]


def test_each_listed_wrong_fix_exists_and_is_listed_once(course):
    names = {f"{each}/{fix.name}" for each in EXERCISES for fix in load_wrong_fixes(course, each)}
    assert {*LISTED} <= names
    assert len({*LISTED}) == len(LISTED)


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_the_wrong_fixes_that_are_called_fixed_at_home_are_those_that_are_listed(course, tmp_path, exercise_id):
    """At every recorded seed. Remove a wrong fix from the list once it is refused."""
    release(course, tmp_path / "out", only=(exercise_id,))
    edition = Course(root=tmp_path / "out")
    fixes = load_wrong_fixes(course, exercise_id)

    with open_judge(edition) as judge:
        fixed = {
            f"{exercise_id}/{fix.name}"
            for seed in Recording(edition.answers(exercise_id)).seeds
            for fix in fixes
            if is_called_fixed(judge(exercise_id, submission_from_text(fix.text), "attention.py", seed), fix)
        }

    assert fixed == {name for name in LISTED if name.startswith(f"{exercise_id}/")}


def is_called_fixed(verdict: Verdict, fix: WrongFix) -> bool:
    """Return whether the verdict takes nothing off; the course takes only extra points off some wrong fixes."""
    is_each_fixed = all(defect.status is DefectStatus.FIXED for defect in verdict.defects)
    return verdict.outcome is Result.FIXED and (is_each_fixed or not fix.expect.extra_only)
