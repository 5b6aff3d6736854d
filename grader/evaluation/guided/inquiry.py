"""Ask a process of the kit about a starter: the questions and values of a guided hunt, and answers to claims.

The questions and claims are those of `python -m grader guide`. The kit answers them by running code.
"""

from msgspec import Struct

from grader.processes.examiner_process import Service, ServiceRequest
from grader.processes.pool import ExaminerPool, PoolClient
from grader.report.guide import ListedValue
from grader.spec.paths import Course
from grader.student.cards import Question

SERVICE = "grader.evaluation.guided.service"

MAX_SECONDS = 120.0
"""The most seconds for one inquiry, on a busy machine."""

SEED = 0
"""The seed of a starter's verdict: all models get the same questions and the same call."""


class Inquiry(Struct, frozen=True, kw_only=True):
    """A request: the claims to answer about an exercise's starter. Without claims, only the questions and values."""

    exercise: str
    claims: list[str] = []


class AnsweredClaim(Struct, frozen=True, kw_only=True):
    """A claim about a value of the starter, and its answer; `is_true` is None if it has none."""

    text: str
    is_true: bool | None
    evidence: str
    is_contradicted: bool = False
    """Whether the claim is true of the starter and false of the reference, in the same call."""


class Findings(Struct, frozen=True, kw_only=True):
    """The kit's observations of a starter."""

    questions: list[Question] = []
    values: list[ListedValue] = []
    """The values that the starter makes in the call about which claims are answered, and its parameters."""
    forms: list[tuple[str, str]] = []
    """The forms of claims, each with its meaning; none if the starter makes no value."""
    claims: list[AnsweredClaim] = []


_pool = ExaminerPool(1)


def inquire(course: Course, exercise_id: str, claims: list[str] | None = None) -> Findings:
    """Return the questions and values of a guided hunt, and the answers to claims.

    Raise `SpecError` for a wrong description, `BrokenExerciseError` if the reference fails its own checks, and other
    `KitError`s if the kit cannot answer.
    """
    request = ServiceRequest(
        body=Inquiry(exercise=exercise_id, claims=claims or []),
        name=exercise_id,
        seconds=MAX_SECONDS,
        topic=exercise_id,
        stamps=course.stamps(exercise_id),
    )
    client = PoolClient(_pool, Service(module=SERVICE, arguments=(str(course.root),)))
    return client.ask(request, Findings)


def close() -> None:
    """End the process that answers. The next inquiry starts another."""
    _pool.close()
