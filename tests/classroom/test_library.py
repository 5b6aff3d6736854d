"""The whole library in one batch: each starter, reference, alternative and wrong fix of every hunt gets its verdict."""

from collections import Counter

import msgspec
import pytest

from grader.classroom.gradebook.class_records import ClassRecords
from grader.spec.loading import load_exercise
from grader.spec.wrong_fixes import Expectation, load_wrong_fixes
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict
from tests.support.commands import run_program
from tests.support.wrong_fixes import differences

KINDS = ("starter", "reference", "alternative", "wrong fix")
SECONDS = 1500


@pytest.fixture(scope="module")
def library(course):
    """All sources and, for wrong fixes, what is expected, by exercise, kind and name."""
    found = {}
    for exercise_id in course.exercise_ids():
        paths = {
            ("starter", "starter"): course.pristine(course.editable_files(exercise_id)[0]),
            ("reference", "reference"): course.reference(exercise_id),
        }
        paths |= {("alternative", path.stem): path for path in sorted(course.alternatives(exercise_id).glob("*.py"))}
        for name, path in paths.items():
            found[exercise_id, *name] = path.read_text(encoding="utf-8"), Expectation()
        for fix in load_wrong_fixes(course, exercise_id):
            found[exercise_id, "wrong fix", fix.name] = fix.text, fix.expect
    return found


@pytest.mark.slow
def test_the_whole_library_gets_its_verdicts_in_one_batch(course, library, tmp_path):
    lines = [
        {"student": f"{kind}: {name}", "exercise": exercise_id, "source": source}
        for (exercise_id, kind, name), (source, _) in library.items()
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
            _, expect = library[grade.exercise, kind, name]
            complaints = complaints_about(kind, records.verdict(grade), expect, is_right=not exercise.defects)
            if complaints:
                wrong[grade.exercise, kind, name] = complaints
            else:
                right[kind] += 1
    print(", ".join(f"{right[kind]} of {sum(key[1] == kind for key in library)} {kind}s" for kind in KINDS))
    assert not wrong
    assert right.total() == len(library)


def complaints_about(kind: str, verdict: Verdict, expect: Expectation, *, is_right: bool) -> list[str]:
    """The differences between a verdict and the expected one; `is_right` if the starter has no defect."""
    if kind == "wrong fix":
        return differences(verdict, expect)
    statuses = {defect.status for defect in verdict.defects}
    told = f"{verdict.outcome}, {verdict.score:g} of {verdict.max_score:g}, {sorted(statuses)}, {verdict.regressions}"
    if kind == "starter" and not is_right:
        is_due = verdict.outcome is Result.NOT_FIXED and verdict.score == 0 and statuses == {DefectStatus.PRESENT}
    else:
        is_due = verdict.outcome is Result.FIXED and verdict.score == verdict.max_score and not verdict.regressions
    return [] if is_due else [told]
