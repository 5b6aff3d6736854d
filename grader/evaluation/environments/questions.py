"""What every environment needs: the question for a model, and the assessment of its answer."""

import asyncio
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from grader.api import agrade, grade_trap, open_course
from grader.checks.outcome import Status
from grader.errors import KitError, SpecError, UsageError
from grader.evaluation.answers import extract_code, extract_tests
from grader.evaluation.catalogue import Hunt, hunt_of
from grader.evaluation.guided.tasks import assess_claims, assess_predictions, locate_task, predict_task
from grader.evaluation.rewards import Scheme, require_trap_scheme, reward, trap_reward
from grader.processes.deadlines import TEST_SECONDS, TRAP_SECONDS
from grader.report.findings import full_text
from grader.report.json import to_dict
from grader.sandbox.traps.messages import MAX_TESTS
from grader.spec.loading import load_exercise
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


class Form(StrEnum):
    """What a model is asked to do with a hunt."""

    FIX = "fix"
    TRAP = "trap"
    PREDICT = "predict"
    LOCATE = "locate"


class Assessment(Struct, frozen=True, kw_only=True):
    """The assessment of an answer."""

    value: float | None
    """The reward, from 0 to 1; None if the kit could not judge."""
    feedback: str
    """What a model may read before it answers again: findings, but no name of a defect."""
    code: str
    """The code that was found in the answer; for predictions and claims, the answer."""
    record: dict[str, Any]
    """The verdict, the result of the trap or the findings as plain data. It gives answers away: show it to no model."""


def hunts_of(exercise_ids: Iterable[str] = (), course: str | Path | None = None, form: Form = Form.FIX) -> list[Hunt]:
    """Return the hunts of these ids, by default all. Leave out those that do not have this form.

    There is nothing to locate in a starter without defects. Raise `UsageError` for an unknown id, or if no hunt is
    left.
    """
    found = open_course(course)
    known = found.exercise_ids()
    chosen = list(exercise_ids) or known
    for each in chosen:
        if each not in known:
            raise UsageError(f"there is no {each} here; use one of {', '.join(known)}")
    if form is Form.LOCATE:
        chosen = [each for each in chosen if load_exercise(found.description(each)).defects]
    if not chosen:
        raise UsageError(f"no hunt in {found.root} has the form {form}; choose another form, course or hunt")
    return [hunt_of(found, each) for each in chosen]


def require_scheme(form: Form, scheme: Scheme | str) -> None:
    """Raise `UsageError` if the scheme cannot reward answers in this form."""
    if form is Form.TRAP:
        require_trap_scheme(scheme)


def question(hunt: Hunt, form: Form, course: str | Path | None = None) -> str:
    """Return the question for a model: story, interface, file and task."""
    task = task_of(hunt, form, course)
    return f"{hunt.prompt}\n`{hunt.file_name}`:\n\n```python\n{hunt.starter.rstrip()}\n```\n\n{task}\n"


def task_of(hunt: Hunt, form: Form, course: str | Path | None = None) -> str:
    """Return what a model is asked to do with the file."""
    match form:
        case Form.FIX:
            return FIX_TASK
        case Form.TRAP:
            return TRAP_TASK.format(
                entry=hunt.entry, tests=MAX_TESTS, test_seconds=TEST_SECONDS, trap_seconds=TRAP_SECONDS
            )
        case Form.PREDICT:
            return predict_task(open_course(course), hunt.id)
        case Form.LOCATE:
            return locate_task(open_course(course), hunt.id)


async def assess(
    hunt: Hunt,
    form: Form,
    answer: str,
    *,
    scheme: Scheme = Scheme.ALL_OR_NOTHING,
    course: str | Path | None = None,
) -> Assessment:
    """Assess a model's answer. If the kit fails, the assessment has no value; a failure never gives the value 0.

    The scheme applies to fixes and traps. Raise `UsageError` if the arguments are wrong, because then no answer could
    be judged.
    """
    require_scheme(form, scheme)
    code = answer
    try:
        if form is Form.FIX:
            code = extract_code(answer, hunt.id, course=course)
            return _of_fix(await agrade(hunt.id, code, course=course), code, scheme)
        if form is Form.TRAP:
            code = extract_tests(answer)
            return await asyncio.to_thread(assess_trap, hunt, code, scheme, course)
        return await asyncio.to_thread(_assess_guided, hunt, form, answer, course)
    except KitError as error:
        if isinstance(error, UsageError) and not isinstance(error, SpecError):  # a wrong description is the course's
            raise
        return Assessment(value=None, feedback="The kit could not judge this answer.", code=code, record=_error(error))


def _assess_guided(hunt: Hunt, form: Form, answer: str, course: str | Path | None) -> Assessment:
    judge = assess_predictions if form is Form.PREDICT else assess_claims
    value, feedback, found = judge(open_course(course), hunt.id, answer)
    return Assessment(value=value, feedback=feedback, code=answer, record=msgspec.to_builtins(found))


def assess_trap(hunt: Hunt, code: str, scheme: Scheme, course: str | Path | None = None) -> Assessment:
    """Assess tests. Raise `KitError` if the kit cannot judge."""
    result = grade_trap(hunt.id, code, course=course)
    return Assessment(
        value=trap_reward(result, scheme),
        feedback=_trap_feedback(result),
        code=code,
        record=msgspec.to_builtins(result, str_keys=True),
    )


def _of_fix(verdict: Verdict, code: str, scheme: Scheme) -> Assessment:
    return Assessment(
        value=reward(verdict, scheme), feedback=_fix_feedback(verdict), code=code, record=to_dict(verdict)
    )


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


def _error(error: KitError) -> dict[str, Any]:
    return {"error": type(error).__name__, "reason": str(error)}
