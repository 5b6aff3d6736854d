"""The forms of a task: what a model does with a hunt, and how its answer is judged. Each form is one class."""

import asyncio
from abc import ABC, abstractmethod
from enum import StrEnum
from pathlib import Path

import msgspec

from grader.api import agrade, grade_trap
from grader.checks.outcome import Status
from grader.evaluation.answers import extract_code, extract_tests
from grader.evaluation.assessment import Assessment
from grader.evaluation.catalogue import Hunt
from grader.evaluation.guided.tasks import assess_claims, assess_predictions, locate_task, predict_task
from grader.evaluation.rewards import Scheme, require_trap_scheme, reward, trap_reward
from grader.processes.deadlines import TEST_SECONDS, TRAP_SECONDS
from grader.report.findings import full_text
from grader.report.json import to_dict
from grader.sandbox.traps.messages import MAX_TESTS
from grader.spec.exercise import Exercise
from grader.spec.paths import TRAP, Course
from grader.trap.implementations import files_for_traps
from grader.trap.result import Caught, Standing, TrapResult
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict

MAX_FINDINGS = 5
"""Findings that the feedback on an answer contains."""

FIX_TASK = "The file may be defective. Find its defects and return the whole repaired file in one Python block."

TRAP_TASK = """\
The file may be defective. Do not repair it: return pytest functions, in one Python block. They run on several
implementations of the same interface. Right implementations must pass them, and defective implementations should fail.

- `subject` is a fixture. Write it where you would write `{entry}`. `gaussian` is a fixture too: `gaussian(2, 5, 4)`
  returns a tensor of random numbers of that shape.
- A test counts if it calls the subject and every right implementation passes it, whatever the random numbers are. A
  defect is caught if such a test fails on that defect alone.
- A test may use torch, numpy and pytest. It reads no files.
- At most {tests} tests run: {test_seconds:g} s each, {trap_seconds:g} s in all."""

FENCE = "```"


class Form(StrEnum):
    """What a model is asked to do with a hunt."""

    FIX = "fix"
    TRAP = "trap"
    PREDICT = "predict"
    LOCATE = "locate"


class HuntForm(ABC):
    """A form of task."""

    def suits(self, exercise: Exercise) -> bool:
        """Return whether an exercise has this form."""
        return True

    def require_scheme(self, scheme: Scheme | str) -> None:  # noqa: B027 - most forms accept every scheme
        """Raise `UsageError` if the scheme cannot reward answers in this form."""

    @abstractmethod
    def task(self, hunt: Hunt, course: Course) -> str:
        """Return what a model is asked to do with the file."""

    def answer_in(self, text: str, hunt: Hunt, course: Course) -> str:
        """Return the part of a model's text that is judged."""
        return text

    def answer_in_file(self, text: str) -> str:
        """Return the answer in a file with nothing but the answer."""
        return text

    @abstractmethod
    async def assess(self, answer: str, hunt: Hunt, scheme: Scheme, course: Course) -> Assessment:
        """Assess an answer. Raise `KitError` if the kit cannot judge."""

    def file_name(self, hunt: Hunt) -> str:
        """Return the name of the file with an agent's answer."""
        return "answer.txt"

    def files_for_judge(self, course: Course, exercise_id: str) -> list[Path]:
        """Return the files that this form needs to be judged, besides those of the exercise."""
        return []

    def right_answer(self, course: Course, exercise_id: str) -> Path | None:
        """Return the path of an answer that earns everything; None if no file has one."""
        return None


class FixForm(HuntForm):
    """Repair the file."""

    def task(self, hunt: Hunt, course: Course) -> str:
        return FIX_TASK

    def answer_in(self, text: str, hunt: Hunt, course: Course) -> str:
        return extract_code(text, hunt.id, course=course.root)

    async def assess(self, answer: str, hunt: Hunt, scheme: Scheme, course: Course) -> Assessment:
        verdict = await agrade(hunt.id, answer, course=course.root)
        return Assessment(
            value=reward(verdict, scheme), feedback=_fix_feedback(verdict), code=answer, record=to_dict(verdict)
        )

    def file_name(self, hunt: Hunt) -> str:
        return hunt.file_name

    def right_answer(self, course: Course, exercise_id: str) -> Path | None:
        return course.reference(exercise_id)


class TrapForm(HuntForm):
    """Write tests that right code passes and defective code fails."""

    def require_scheme(self, scheme: Scheme | str) -> None:
        require_trap_scheme(scheme)

    def task(self, hunt: Hunt, course: Course) -> str:
        return TRAP_TASK.format(entry=hunt.entry, tests=MAX_TESTS, test_seconds=TEST_SECONDS, trap_seconds=TRAP_SECONDS)

    def answer_in(self, text: str, hunt: Hunt, course: Course) -> str:
        return extract_tests(text)

    def answer_in_file(self, text: str) -> str:
        return f"{text}\n"  # a single line could be taken for a path

    async def assess(self, answer: str, hunt: Hunt, scheme: Scheme, course: Course) -> Assessment:
        result = await asyncio.to_thread(grade_trap, hunt.id, answer, course=course.root)
        return Assessment(
            value=trap_reward(result, scheme),
            feedback=_trap_feedback(result),
            code=answer,
            record=msgspec.to_builtins(result, str_keys=True),
        )

    def file_name(self, hunt: Hunt) -> str:
        return TRAP

    def files_for_judge(self, course: Course, exercise_id: str) -> list[Path]:
        return files_for_traps(course, exercise_id)

    def right_answer(self, course: Course, exercise_id: str) -> Path | None:
        return course.model_trap(exercise_id)


class PredictForm(HuntForm):
    """Answer questions about the file's behaviour."""

    def task(self, hunt: Hunt, course: Course) -> str:
        return predict_task(course, hunt.id)

    def answer_in_file(self, text: str) -> str:
        return _fenced(text)

    async def assess(self, answer: str, hunt: Hunt, scheme: Scheme, course: Course) -> Assessment:
        return await asyncio.to_thread(assess_predictions, course, hunt.id, answer)


class LocateForm(HuntForm):
    """Make claims that are true of the file and false of right code."""

    def suits(self, exercise: Exercise) -> bool:
        return bool(exercise.defects)

    def task(self, hunt: Hunt, course: Course) -> str:
        return locate_task(course, hunt.id)

    def answer_in_file(self, text: str) -> str:
        return _fenced(text)

    async def assess(self, answer: str, hunt: Hunt, scheme: Scheme, course: Course) -> Assessment:
        return await asyncio.to_thread(assess_claims, course, hunt.id, answer)


FORMS: dict[Form, HuntForm] = {
    Form.FIX: FixForm(),
    Form.TRAP: TrapForm(),
    Form.PREDICT: PredictForm(),
    Form.LOCATE: LocateForm(),
}


def _fenced(text: str) -> str:
    return text if FENCE in text else f"{FENCE}\n{text}\n{FENCE}\n"


def _fix_feedback(verdict: Verdict) -> str:
    """Return the fixed defects by number and the first findings, without the names of checks: they tell too much."""
    if verdict.outcome is Result.FIXED:
        return "Every defect is fixed."
    if not verdict.was_checked():
        return f"No check could run: {verdict.reason}"
    fixed = [f"Defect {each.number} is fixed." for each in verdict.defects if each.status is DefectStatus.FIXED]
    findings = [each.finding for each in verdict.checks if each.status is not Status.PASSED and each.finding]
    listed = [f"- {full_text(each)}" for each in findings[:MAX_FINDINGS]]
    return "\n".join(["The file is not fixed yet.", *fixed, "Checks failed:", *listed])


def _trap_feedback(result: TrapResult) -> str:
    if result.problem:
        return f"No test ran: {result.problem}"
    set_aside = [
        f"- {each.name} does not count ({each.standing}). {each.reason}".rstrip()
        for each in result.tests
        if each.standing is not Standing.COUNTS
    ]
    caught = [f"Defect {each.number} is caught." for each in result.defects if each.caught is Caught.ALWAYS]
    missed = [] if result.catches_all() else ["The tests do not catch every defect."]
    return "\n".join([*caught, *missed, *set_aside])
