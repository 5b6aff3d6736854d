"""What the course refuses is refused in the sealed student edition too, but for what is listed."""

from pathlib import Path

import pytest

from grader.author.release import release
from grader.checks.recording import Recording
from grader.spec.paths import Course
from grader.submission import submission_from_text
from grader.verdict.attribution import DefectStatus
from grader.verdict.judge import open_judge
from grader.verdict.verdict import Result, Verdict
from tests.support.paths import CORPUS

FOLDER = CORPUS / "wrong_fixes"
EXERCISES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
LISTED = [
    line for line in (FOLDER / "fixed_at_home.txt").read_text(encoding="utf-8").splitlines() if not line.startswith("#")
]


def test_what_is_listed_is_there_and_stands_once():
    assert [name for name in LISTED if not (FOLDER / name).is_file()] == []
    assert len({*LISTED}) == len(LISTED)


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_the_wrong_fixes_that_are_called_fixed_at_home_are_those_that_are_listed(course, tmp_path, exercise_id):
    """At every seed that was recorded. A file that is refused by now has to be taken off the list."""
    release(course, tmp_path / "out", only=(exercise_id,))
    edition = Course(tmp_path / "out")
    paths = sorted((FOLDER / exercise_id).glob("*.py"))

    with open_judge(edition) as judge:
        fixed = {
            f"{exercise_id}/{path.name}"
            for seed in Recording(edition.answers(exercise_id)).seeds
            for path in paths
            if is_called_fixed(judge(exercise_id, submission_from_text(path.read_text()), path.name, seed), path)
        }

    assert fixed == {name for name in LISTED if name.startswith(f"{exercise_id}/")}


def is_called_fixed(told: Verdict, path: Path) -> bool:
    """Whether a verdict takes nothing off; of some wrong fixes the course takes extra points alone."""
    loses_extra_points = "extra" in path.read_text(encoding="utf-8").splitlines()[1].split()
    is_each_fixed = all(defect.status is DefectStatus.FIXED for defect in told.defects)
    return told.outcome is Result.FIXED and (is_each_fixed or not loses_extra_points)
