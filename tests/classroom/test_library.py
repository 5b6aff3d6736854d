"""The whole library in one batch: each starter, reference, alternative and wrong fix of every hunt gets its verdict."""

from collections import Counter

import msgspec
import pytest

from grader.classroom.gradebook.class_records import ClassRecords
from grader.spec.loading import load_exercise
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict
from tests.support.commands import run_program
from tests.support.paths import CORPUS
from tests.verdicts.test_wrong_fixes import expectations, what_is_wrong

KINDS = ("starter", "reference", "alternative", "wrong fix")
FEWEST = {"starter": 1, "reference": 1, "alternative": 6, "wrong fix": 6}
SECONDS = 1500


@pytest.fixture(scope="module")
def library(course):
    """All sources, by exercise and by what they are called; what they are comes first in the name."""
    found = {}
    for exercise_id in course.exercise_ids():
        paths = {
            ("starter", "starter"): course.pristine(course.editable_files(exercise_id)[0]),
            ("reference", "reference"): course.reference(exercise_id),
        }
        for kind, folder in (("alternative", "alternatives"), ("wrong fix", "wrong_fixes")):
            paths |= {(kind, path.stem): path for path in sorted((CORPUS / folder / exercise_id).glob("*.py"))}
        found |= {(exercise_id, *name): path.read_text(encoding="utf-8") for name, path in paths.items()}
    return found


def test_every_hunt_has_enough_right_and_wrong_fixes(course, library):
    counts = Counter((exercise_id, kind) for exercise_id, kind, _ in library)
    few = {
        (exercise_id, kind): counts[exercise_id, kind]
        for exercise_id in course.exercise_ids()
        for kind, fewest in FEWEST.items()
        if counts[exercise_id, kind] < fewest
    }
    assert not few


@pytest.mark.slow
def test_the_whole_library_gets_its_verdicts_in_one_batch(course, library, tmp_path):
    lines = [
        {"student": f"{kind}: {name}", "exercise": exercise_id, "source": source}
        for (exercise_id, kind, name), source in library.items()
    ]
    submissions, gradebook = tmp_path / "library.jsonl", tmp_path / "library.sqlite"
    submissions.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    done = run_program(
        "batch", submissions, "--gradebook", gradebook, "--seed", 7, "--no-share", "--allow-open", timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    right, wrong = Counter(), {}
    with ClassRecords(gradebook) as records:
        for grade in list(records.grades()):
            kind, _, name = grade.student.partition(": ")
            exercise = load_exercise(course.description(grade.exercise))
            source = library[grade.exercise, kind, name]
            complaints = complaints_about(kind, records.verdict(grade), source, is_right=not exercise.defects)
            if complaints:
                wrong[grade.exercise, kind, name] = complaints
            else:
                right[kind] += 1
    print(", ".join(f"{right[kind]} of {sum(key[1] == kind for key in library)} {kind}s" for kind in KINDS))
    assert not wrong
    assert right.total() == len(library)


def complaints_about(kind: str, verdict: Verdict, source: str, *, is_right: bool) -> list[str]:
    """How a verdict differs from what is due to such a source; `is_right` where the starter has no defect."""
    if kind == "wrong fix":
        return what_is_wrong(verdict, expectations(source))
    statuses = {defect.status for defect in verdict.defects}
    told = f"{verdict.outcome}, {verdict.score:g} of {verdict.max_score:g}, {sorted(statuses)}, {verdict.regressions}"
    if kind == "starter" and not is_right:
        is_due = verdict.outcome is Result.NOT_FIXED and verdict.score == 0 and statuses == {DefectStatus.PRESENT}
    else:
        is_due = verdict.outcome is Result.FIXED and verdict.score == verdict.max_score and not verdict.regressions
    return [] if is_due else [told]
