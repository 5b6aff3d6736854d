"""PrairieLearn: a question with an image that grades it, and results for each student."""

import uuid
from pathlib import Path

import msgspec

from grader.classroom.exports.records import Graded, StudentTest, VerdictExport, student_tests
from grader.classroom.platforms.platform import Autograder, Package
from grader.errors import UsageError
from grader.spec.exercise import Exercise
from grader.verdict.verdict import Result, Verdict

MAX_OUTPUT = 20_000
"""The most characters of a test's output, because the whole file may have 1 MB."""


class PrairieLearn(Autograder, VerdictExport):
    """A question whose editor opens the starter."""

    name = "prairielearn"
    export_file = "results.json"
    kit_folder = "image"

    def template_values(self, package: Package) -> dict[str, object]:
        return {"uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"grader:{package.exercise.id}"))}

    def extra_files(self, package: Package) -> dict[Path, bytes]:
        course, exercise_id = package.course, package.exercise.id
        if "{{" in package.story:
            place = f"exercises/{exercise_id}/README.md"
            raise UsageError(f"{place}: PrairieLearn replaces text after {{{{; write the story without it")
        starter = course.pristine(course.editable_files(exercise_id)[0])
        return {Path("starter", starter.name): starter.read_bytes()}

    def results(self, verdict: Verdict, exercise: Exercise, remark: str) -> dict[str, str]:
        return {"": _render(verdict, exercise, remark)}

    def render_export(self, graded: Graded) -> str:
        return _render(graded.verdict, graded.exercise, graded.grade.remark)


def _render(verdict: Verdict, exercise: Exercise, remark: str) -> str:
    """Return results.json. Every test has points: one without points would hide all. Extras count 0 of 0."""
    if verdict.outcome is Result.NOT_GRADABLE:
        data: dict[str, object] = {
            "gradable": False,
            "score": 0.0,
            "format_errors": [(verdict.reason or "")[:MAX_OUTPUT]],
            "message": "\n".join(filter(None, (remark, "It cannot be graded. This costs no attempt."))),
            "tests": [],
        }
    else:
        data = {
            "gradable": True,
            "score": round(verdict.judged_score() / verdict.max_score, 6) if verdict.max_score else 0.0,
            "message": "\n".join(filter(None, (remark, verdict.outcome.replace("_", " ")))),
            "output": "",
            "tests": [_test(test) for test in student_tests(verdict, exercise)],
        }
    return msgspec.json.format(msgspec.json.encode(data)).decode()


def _test(test: StudentTest) -> dict[str, object]:
    return {
        "name": test.name,
        "points": 0.0 if test.is_extra else test.points,  # PrairieLearn adds them up
        "max_points": 0.0 if test.is_extra else test.max_points,
        "output": test.output[:MAX_OUTPUT],
    }
