"""Gradescope's results.json. Every test is visible: one that is hidden would hide the student's total."""

import msgspec

from grader.report.exports.formats import Graded, StudentTest, VerdictExport, student_tests


def render(graded: Graded) -> str:
    """The top-level score is the verdict's, which leaves extras out."""
    verdict = graded.verdict
    data = {
        "score": verdict.score,
        "execution_time": round(verdict.seconds, 3),
        "output": f"{graded.exercise.title}: {verdict.outcome.replace('_', ' ')}",
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"exercise": verdict.exercise, "seed": verdict.seed},
        "tests": [_test(test, place) for place, test in enumerate(student_tests(verdict, graded.exercise), 1)],
    }
    return msgspec.json.format(msgspec.json.encode(data)).decode()


def _test(test: StudentTest, place: int) -> dict[str, object]:
    return {
        "name": test.name,
        "number": str(place),
        "status": "passed" if test.passed else "failed",
        "score": test.points,
        "max_score": 0.0 if test.is_extra else test.max_points,
        "output": test.output,
        "visibility": "visible",
    }


EXPORT = VerdictExport("gradescope", "results.json", render)
