"""Classroom 50's result.json: scores are whole numbers, so points are counted in the largest part that all share."""

import msgspec

from grader.report.exports.formats import Graded, StudentTest, VerdictExport, student_tests

PARTS = (1, 2, 4, 5, 10, 20, 100)
"""Into how many parts a point may be cut."""

UNKNOWN_TIME = "1970-01-01T00:00:00Z"


def render(graded: Graded) -> str:
    """A gradebook knows no addresses: tag, commit, release and review name the file that was handed in.

    Extras are in no score: a test of theirs counts 0 of 0.
    """
    verdict, grade = graded.verdict, graded.grade
    tests = student_tests(verdict, graded.exercise)
    points = [value for test in tests for value in (test.points, test.max_points)]
    parts = _parts([verdict.score, verdict.max_score, *points])
    submitted = grade.submitted_at or grade.judged_at or UNKNOWN_TIME
    data = {
        "schema": "classroom50/result/v1",
        "classroom": graded.classroom,
        "assignment": verdict.exercise,
        "assignment_type": "individual",
        "owner": grade.student or "unknown",
        "submission": f"submit/{submitted}",
        "commit": grade.file,
        "release": grade.file,
        "review": grade.file,
        "datetime": submitted,
        "graded_at": grade.judged_at,
        "score": round(verdict.score * parts),
        "max-score": round(verdict.max_score * parts),
        "tests": [_test(test, parts) for test in tests],
    }
    return msgspec.json.format(msgspec.json.encode(data)).decode()


def _parts(values: list[float]) -> int:
    shared = (parts for parts in PARTS if all(float(value * parts).is_integer() for value in values))
    return next(shared, PARTS[-1])


def _test(test: StudentTest, parts: int) -> dict[str, object]:
    return {
        "test-name": test.name,
        "passed": test.passed,
        "score": 0 if test.is_extra else round(test.points * parts),
        "max-score": 0 if test.is_extra else round(test.max_points * parts),
        "output": test.output,
    }


EXPORT = VerdictExport("classroom50", "result.json", render)
