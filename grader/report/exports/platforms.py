"""What course platforms take: Gradescope's, PrairieLearn's and Classroom 50's results; feedback for each student."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import msgspec
from msgspec import Struct

from grader.classroom.gradebook.class_records import CANVAS_NAME, MOODLE_NAME, ClassRecords, GradeRow
from grader.errors import UsageError
from grader.report.exports import (
    ExerciseLoader,
    Graded,
    StudentTest,
    VerdictExport,
    folder_name,
    graded,
    has_file,
    make_folder,
    student_tests,
)
from grader.report.html import render_report
from grader.report.terminal import render_terminal
from grader.spec.exercise import Exercise
from grader.spec.paths import write_product
from grader.verdict.verdict import Result, Verdict


def _gradescope_file(graded: Graded) -> str:
    return render_gradescope(graded.verdict, graded.exercise, graded.grade.remark)


def render_gradescope(verdict: Verdict, exercise: Exercise, remark: str = "") -> str:
    """The top-level score is the verdict's, which leaves extras out; of two files, `remark` says which counted."""
    data = {
        "score": verdict.score,
        "execution_time": round(verdict.seconds, 3),
        "output": "\n".join(filter(None, (remark, f"{exercise.title}: {verdict.outcome.replace('_', ' ')}"))),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"exercise": verdict.exercise, "seed": verdict.seed, "isolation": verdict.isolation},
        "tests": [_gradescope_test(test, place) for place, test in enumerate(student_tests(verdict, exercise), 1)],
    }
    return msgspec.json.format(msgspec.json.encode(data)).decode()


def _gradescope_test(test: StudentTest, place: int) -> dict[str, object]:
    return {
        "name": test.name,
        "number": str(place),
        "status": "passed" if test.passed else "failed",
        "score": test.points,
        "max_score": 0.0 if test.is_extra else test.max_points,
        "output": test.output,
        "visibility": "visible",
    }


GRADESCOPE = VerdictExport("gradescope", "results.json", _gradescope_file)


MOST_OUTPUT = 20_000
"""Characters of each test: the whole file may hold 1 MB."""


def _prairielearn_file(graded: Graded) -> str:
    return render_prairielearn(graded.verdict, graded.exercise, graded.grade.remark)


def render_prairielearn(verdict: Verdict, exercise: Exercise, remark: str = "") -> str:
    """Every test has points, for one without turns the display of points off for all; extras are out of 0.

    Of two files, `remark` says which counted.
    """
    if verdict.outcome is Result.NOT_GRADABLE:
        data: dict[str, object] = {
            "gradable": False,
            "score": 0.0,
            "format_errors": [(verdict.reason or "")[:MOST_OUTPUT]],
            "message": "\n".join(filter(None, (remark, "It cannot be graded, and that costs no attempt."))),
            "tests": [],
        }
    else:
        data = {
            "gradable": True,
            "score": round(verdict.score / verdict.max_score, 6) if verdict.max_score else 0.0,
            "message": "\n".join(filter(None, (remark, verdict.outcome.replace("_", " ")))),
            "output": "",
            "tests": [_prairielearn_test(test) for test in student_tests(verdict, exercise)],
        }
    return msgspec.json.format(msgspec.json.encode(data)).decode()


def _prairielearn_test(test: StudentTest) -> dict[str, object]:
    return {
        "name": test.name,
        "points": 0.0 if test.is_extra else test.points,  # the page adds them up
        "max_points": 0.0 if test.is_extra else test.max_points,
        "output": test.output[:MOST_OUTPUT],
    }


PRAIRIELEARN = VerdictExport("prairielearn", "results.json", _prairielearn_file)


PARTS = (1, 2, 4, 5, 10, 20, 100)
"""Into how many parts a point may be cut."""

UNKNOWN_TIME = "1970-01-01T00:00:00Z"


class HandedIn(Struct, frozen=True):
    """Whose work it is, and where it can be looked at: what Classroom 50 tells a run of its own."""

    classroom: str
    assignment: str
    owner: str
    submission: str
    commit: str
    release: str
    review: str
    submitted_at: str
    graded_at: str
    kind: str = "individual"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], now: str) -> Self:
        """`UsageError` where this is no run of Classroom 50's."""
        try:
            return cls(
                environment["CLASSROOM"],
                environment["ASSIGNMENT"],
                environment.get("OWNER") or environment["USERNAME"],
                environment["SUBMISSION_TAG"],
                environment["COMMIT_URL"],
                environment["RELEASE_URL"],
                environment.get("REVIEW_URL") or environment["COMMIT_URL"],
                now,
                now,
                environment.get("ASSIGNMENT_TYPE") or "individual",
            )
        except KeyError as missing:
            raise UsageError(
                f"Classroom 50 sets {missing.args[0]} where it grades; set it to try this elsewhere"
            ) from None


def _classroom50_file(graded: Graded) -> str:
    """A gradebook knows no addresses: tag, commit, release and review name the file that was handed in."""
    grade = graded.grade
    submitted = grade.submitted_at or grade.judged_at or UNKNOWN_TIME
    owner, tag = grade.student or "unknown", f"submit/{submitted}"
    places = (grade.file, grade.file, grade.file)
    handed_in = HandedIn(graded.classroom, grade.exercise, owner, tag, *places, submitted, grade.judged_at)
    return render_classroom50(graded.verdict, graded.exercise, handed_in)


def render_classroom50(verdict: Verdict, exercise: Exercise, handed_in: HandedIn) -> str:
    """Extras are in no score: a test of theirs counts 0 of 0."""
    tests = student_tests(verdict, exercise)
    points = [value for test in tests for value in (test.points, test.max_points)]
    parts = _parts_of_points([verdict.score, verdict.max_score, *points])
    data = {
        "schema": "classroom50/result/v1",
        "classroom": handed_in.classroom,
        "assignment": handed_in.assignment,
        "assignment_type": handed_in.kind,
        "owner": handed_in.owner,
        "submission": handed_in.submission,
        "commit": handed_in.commit,
        "release": handed_in.release,
        "review": handed_in.review,
        "datetime": handed_in.submitted_at,
        "graded_at": handed_in.graded_at,
        "score": round(verdict.score * parts),
        "max-score": round(verdict.max_score * parts),
        "tests": [_classroom50_test(test, parts) for test in tests],
    }
    return msgspec.json.format(msgspec.json.encode(data)).decode()


def _parts_of_points(values: list[float]) -> int:
    shared = (parts for parts in PARTS if all(float(value * parts).is_integer() for value in values))
    return next(shared, PARTS[-1])


def _classroom50_test(test: StudentTest, parts: int) -> dict[str, object]:
    return {
        "test-name": test.name,
        "passed": test.passed,
        "score": 0 if test.is_extra else round(test.points * parts),
        "max-score": 0 if test.is_extra else round(test.max_points * parts),
        "output": test.output,
    }


CLASSROOM50 = VerdictExport("classroom50", "result.json", _classroom50_file)


TEXT_WIDTH, TEXT_LINES = 100, 200


def write_feedback(gradebook: Path, folder: Path, exercises: ExerciseLoader) -> int:
    """An HTML and a text file for each verdict; how many. They name no seed: later hand-ins are judged by the same."""
    count = 0
    with ClassRecords(gradebook) as records:
        make_folder(folder)
        for grade in records.grades():
            if not has_file(grade, exercises):
                continue
            exercise = exercises.get(grade.exercise)
            verdict = graded(records, grade, exercise).verdict
            base = folder / feedback_path(grade)
            page = render_report(verdict, exercise, has_seed=False)
            text = render_terminal(verdict, exercise, width=TEXT_WIDTH, height=TEXT_LINES, has_seed=False)
            for suffix, content in (("html", page), ("txt", text)):
                write_product(base.with_name(f"{base.name}.{suffix}"), content.encode("utf-8", "backslashreplace"))
            count += 1
    return count


def feedback_path(grade: GradeRow) -> Path:
    """Where a student's feedback goes, its suffix aside: as the platform named what it handed out."""
    first = grade.file.partition("/")[0].partition(os.sep)[0]
    moodle, canvas = MOODLE_NAME.fullmatch(first), CANVAS_NAME.fullmatch(first)
    if grade.layout == "moodle" and moodle:
        return Path(first[: moodle.start("file")]) / f"feedback_{grade.exercise}"
    if grade.layout == "canvas" and canvas:
        name = first[: canvas.start("file")] + Path(canvas["file"]).stem
        return Path(name if grade.exercise in name else f"{name}_{grade.exercise}")
    return Path(folder_name(grade.student)) / grade.exercise / "feedback"
