"""Classroom 50's result.json: scores are whole numbers, so points are counted in the largest part that all share."""

from collections.abc import Mapping
from typing import Self

import msgspec
from msgspec import Struct

from grader.course.records import Exercise
from grader.errors import UsageError
from grader.report.exports.formats import Graded, StudentTest, VerdictExport, student_tests
from grader.verdict.verdict import Verdict

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
