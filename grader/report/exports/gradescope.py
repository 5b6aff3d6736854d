"""Gradescope's results.json. Every test is visible: one that is hidden would hide the student's total."""

import msgspec

from grader.course.records import Exercise
from grader.report.exports.formats import Graded, StudentTest, VerdictExport, student_tests
from grader.verdict.verdict import Verdict


def _gradescope_file(graded: Graded) -> str:
    return render_gradescope(graded.verdict, graded.exercise)


def render_gradescope(verdict: Verdict, exercise: Exercise) -> str:
    """The top-level score is the verdict's, which leaves extras out."""
    data = {
        "score": verdict.score,
        "execution_time": round(verdict.seconds, 3),
        "output": f"{exercise.title}: {verdict.outcome.replace('_', ' ')}",
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
