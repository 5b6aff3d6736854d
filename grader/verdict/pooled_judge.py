"""Judge submissions in a pool's examiner processes, which hold torch, checks and references between submissions."""

import msgspec
from msgspec import Struct

from grader import errors
from grader.errors import KitError
from grader.processes.examiner_process import Request, Service
from grader.processes.pool import ExaminerPool, PoolClient
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import Submission, Unreadable
from grader.verdict.verdict import Verdict, refuse

SERVICE = "grader.verdict.service"


class FingerprintRequest(Struct, frozen=True, kw_only=True, tag=True):
    """Take the fingerprint of a submission."""

    submission: Submission


class JudgeRequest(Struct, frozen=True, kw_only=True, tag=True):
    """Judge a submission."""

    exercise: str
    submission: Submission
    file: str
    seed: int


class Answer(Struct, frozen=True, kw_only=True):
    """The verdict, the fingerprint, or the name and text of the kit's own error."""

    verdict: Verdict | None = None
    fingerprint: str = ""
    error: str = ""
    text: str = ""


class PooledJudge:
    """Judges submissions to one course, from any number of threads; may be cancelled, for good.

    A process is started anew when an exercise's files have changed.
    """

    def __init__(self, pool: ExaminerPool, course: Course, *, strict: bool = False) -> None:
        self._course = course
        options = ["--strict"] if strict else []
        self._client = PoolClient(pool, Service(module=SERVICE, arguments=(str(course.root), *options)))

    def judge(self, exercise_id: str, read: Submission | Unreadable, file: str, seed: int) -> Verdict:
        """Return the verdict on what was read; `file` is its name in the verdict.

        Raises what `Judge` does, and `ExaminerDiedError` or `CancelledError`.
        """
        exercise = load_exercise(self._course.description(exercise_id))
        refused = refuse(exercise, read, file, seed)
        if refused is not None:
            return refused
        assert isinstance(read, Submission)
        request = Request(
            body=msgspec.msgpack.encode(JudgeRequest(exercise=exercise_id, submission=read, file=file, seed=seed)),
            name=read.name,
            seconds=exercise.limits.seconds.total,
            topic=exercise_id,
            stamps=self._course.stamps(exercise_id),
        )
        verdict = self._ask(request).verdict
        assert verdict is not None
        return verdict

    def fingerprint(self, submission: Submission) -> str:
        """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
        body = msgspec.msgpack.encode(FingerprintRequest(submission=submission))
        return self._ask(Request(body=body, name=submission.name, seconds=0.0)).fingerprint

    def cancel(self) -> None:
        """End what is under way, and refuse any more; from any thread."""
        self._client.cancel()

    def _ask(self, request: Request) -> Answer:
        answer = msgspec.msgpack.decode(self._client.ask(request), type=Answer)
        if answer.error:
            raise _error(answer)
        return answer


def _error(answer: Answer) -> KitError:
    """The error as it was raised in the process."""
    kind = getattr(errors, answer.error, KitError)
    return errors.SpecError(answer.text.split("\n")) if kind is errors.SpecError else kind(answer.text)
