"""Right fixes, however they are written, get everything."""

import pytest

from grader.report.findings import sentence
from grader.spec.paths import Course
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result
from tests.support.judging import Judge
from tests.support.paths import CORPUS
from tests.support.sampling import first_of_each_kind, of_parts, sampled_in_parts

FOLDER = CORPUS / "alternatives"
EXERCISES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
SEED = 1_234_567
"""A proof judges the right fixes of every exercise at another seed."""

SEEDS = range(30)


def test_every_exercise_has_right_fixes_other_than_its_reference(course: Course) -> None:
    assert [each for each in course.exercise_ids() if not [*course.alternatives(each).glob("*.py")]] == []


@pytest.mark.parametrize(("exercise_id", "parts"), sampled_in_parts(first_of_each_kind(EXERCISES)))
def test_every_right_fix_gets_full_marks(judge_text: Judge, exercise_id: str, parts: tuple[int, ...]) -> None:
    paths = of_parts(sorted((FOLDER / exercise_id).glob("*.py")), parts)
    verdicts = judge_text.many(exercise_id, [path.read_text(encoding="utf-8") for path in paths], SEED)
    for path, verdict in zip(paths, verdicts, strict=True):
        findings = [f"{check.check}: {sentence(check.finding)}" for check in verdict.checks if check.finding]
        assert verdict.outcome is Result.FIXED, (path.name, verdict.reason, findings)
        assert findings == [], path.name
        assert all(defect.status is DefectStatus.FIXED for defect in verdict.defects), path.name
        assert verdict.regressions == [], path.name
        assert verdict.score == verdict.max_score, path.name


@pytest.mark.slow
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_no_right_fix_is_refused_by_chance(judge_text: Judge, exercise_id: str) -> None:
    """A limit that is too tight for rounding refuses a right fix at some seeds alone."""
    paths = sorted((FOLDER / exercise_id).glob("*.py"))
    for seed in SEEDS:
        path = paths[seed % len(paths)]
        text = path.read_text(encoding="utf-8")
        assert judge_text.refused(exercise_id, {f"{path.name} at seed {seed}": text}, seed) == {}
