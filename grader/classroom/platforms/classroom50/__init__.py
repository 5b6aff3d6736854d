"""Classroom 50: an autograder that runs in the student's repository, and results for each student."""

import os
from collections.abc import Mapping
from typing import Self

import msgspec
from msgspec import Struct

from grader.classroom.exports.records import Graded, StudentTest, VerdictExport, student_tests
from grader.classroom.gradebook.rows import time_text
from grader.classroom.platforms.platform import Autograder
from grader.errors import UsageError
from grader.report.html import render_report
from grader.report.view import view_of
from grader.spec.exercise import Exercise
from grader.verdict.verdict import Verdict

REPORT = "report.html"
FRACTIONS = (1, 2, 4, 5, 10, 20, 100)
"""Numbers of parts into which a point may be divided, because Classroom 50 accepts only whole numbers."""

UNKNOWN_TIME = "1970-01-01T00:00:00Z"


class HandIn(Struct, frozen=True, kw_only=True):
    """The student, the assignment and the commit: fields that Classroom 50 expects in a result."""

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
        """Read the variables that Classroom 50 sets. Raise `UsageError` if one is missing."""
        try:
            return cls(
                classroom=environment["CLASSROOM"],
                assignment=environment["ASSIGNMENT"],
                owner=environment.get("OWNER") or environment["USERNAME"],
                submission=environment["SUBMISSION_TAG"],
                commit=environment["COMMIT_URL"],
                release=environment["RELEASE_URL"],
                review=environment.get("REVIEW_URL") or environment["COMMIT_URL"],
                submitted_at=now,
                graded_at=now,
                kind=environment.get("ASSIGNMENT_TYPE") or "individual",
            )
        except KeyError as missing:
            raise UsageError(
                f"{missing.args[0]} is not set; Classroom 50 sets it when it grades; elsewhere, set it yourself"
            ) from None


class Classroom50(Autograder, VerdictExport):
    """An autograder.py that a workflow runs in the checkout of a student's repository."""

    name = "classroom50"
    export_file = "result.json"

    def results(self, verdict: Verdict, exercise: Exercise, remark: str) -> dict[str, str]:
        """Return result.json and a report, which names the graded file; `remark` is in the workflow's log."""
        hand_in = HandIn.from_environment(os.environ, time_text())
        return {"": _render(verdict, exercise, hand_in), REPORT: render_report(view_of(verdict, exercise))}

    def render_export(self, graded: Graded) -> str:
        """Return result.json. A gradebook has no URLs, so tag, commit, release and review contain the file's name."""
        grade = graded.grade
        submitted = grade.submitted_at or grade.judged_at or UNKNOWN_TIME
        hand_in = HandIn(
            classroom=graded.classroom,
            assignment=grade.exercise,
            owner=grade.student or "unknown",
            submission=f"submit/{submitted}",
            commit=grade.file,
            release=grade.file,
            review=grade.file,
            submitted_at=submitted,
            graded_at=grade.judged_at,
        )
        return _render(graded.verdict, graded.exercise, hand_in)


def _render(verdict: Verdict, exercise: Exercise, hand_in: HandIn) -> str:
    """Return result.json in whole numbers. Extras count 0 of 0."""
    tests = student_tests(verdict, exercise)
    points = [value for test in tests for value in (test.points, test.max_points)]
    parts = _parts_of_a_point([verdict.judged_score(), verdict.max_score, *points])
    data = {
        "schema": "classroom50/result/v1",
        "classroom": hand_in.classroom,
        "assignment": hand_in.assignment,
        "assignment_type": hand_in.kind,
        "owner": hand_in.owner,
        "submission": hand_in.submission,
        "commit": hand_in.commit,
        "release": hand_in.release,
        "review": hand_in.review,
        "datetime": hand_in.submitted_at,
        "graded_at": hand_in.graded_at,
        "score": round(verdict.judged_score() * parts),
        "max-score": round(verdict.max_score * parts),
        "tests": [_test(test, parts) for test in tests],
    }
    return msgspec.json.format(msgspec.json.encode(data)).decode()


def _parts_of_a_point(values: list[float]) -> int:
    """Return the smallest number of parts in which all values are whole."""
    exact = (parts for parts in FRACTIONS if all(float(value * parts).is_integer() for value in values))
    return next(exact, FRACTIONS[-1])


def _test(test: StudentTest, parts: int) -> dict[str, object]:
    return {
        "test-name": test.name,
        "passed": test.passed,
        "score": 0 if test.is_extra else round(test.points * parts),
        "max-score": 0 if test.is_extra else round(test.max_points * parts),
        "output": test.output,
    }
