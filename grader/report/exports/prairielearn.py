"""PrairieLearn's results.json: what cannot be graded costs no attempt."""

import msgspec

from grader.course.records import Exercise
from grader.report.exports.formats import Graded, StudentTest, VerdictExport, student_tests
from grader.verdict.verdict import Result, Verdict

MOST_OUTPUT = 20_000
"""Characters of each test: the whole file may hold 1 MB."""


def _prairielearn_file(graded: Graded) -> str:
    return render_prairielearn(graded.verdict, graded.exercise)


def render_prairielearn(verdict: Verdict, exercise: Exercise) -> str:
    """Every test has points, for one without turns the display of points off for all; extras are out of 0."""
    if verdict.outcome is Result.NOT_GRADABLE:
        data: dict[str, object] = {
            "gradable": False,
            "score": 0.0,
            "format_errors": [(verdict.reason or "")[:MOST_OUTPUT]],
            "message": "It cannot be graded, and that costs no attempt.",
            "tests": [],
        }
    else:
        data = {
            "gradable": True,
            "score": round(verdict.score / verdict.max_score, 6) if verdict.max_score else 0.0,
            "message": verdict.outcome.replace("_", " "),
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
