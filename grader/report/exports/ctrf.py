"""The Common Test Report Format."""

from datetime import datetime

import msgspec

from grader.report.exports.formats import Graded, StudentTest, VerdictExport, student_tests

MILLISECONDS = 1000


def _ctrf_file(graded: Graded) -> str:
    """Extras that are not mended are skipped; times are in milliseconds."""
    verdict = graded.verdict
    tests = student_tests(verdict, graded.exercise)
    states = [_ctrf_status(test) for test in tests]
    stop = round(datetime.fromisoformat(graded.grade.judged_at).timestamp() * MILLISECONDS)
    counts = {state: states.count(state) for state in ("passed", "failed", "skipped", "pending", "other")}
    data = {
        "reportFormat": "CTRF",
        "specVersion": "0.0.0",
        "results": {
            "tool": {"name": "grader"},
            "summary": {
                "tests": len(tests),
                **counts,
                "start": stop - round(verdict.seconds * MILLISECONDS),
                "stop": stop,
            },
            "tests": [_ctrf_test(test, verdict.exercise) for test in tests],
        },
    }
    return msgspec.json.format(msgspec.json.encode(data)).decode()


def _ctrf_status(test: StudentTest) -> str:
    return "passed" if test.passed else "skipped" if test.is_extra else "failed"


def _ctrf_test(test: StudentTest, exercise: str) -> dict[str, object]:
    return {
        "name": test.name,
        "status": _ctrf_status(test),
        "duration": 0,
        "suite": [exercise],
        "message": test.output,
        "extra": {"points": test.points, "max_points": test.max_points},
    }


CTRF = VerdictExport("ctrf", "ctrf.json", _ctrf_file)
