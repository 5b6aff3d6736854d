"""Judge submissions in a pool's examiner processes, which hold torch, checks and references between submissions."""

from msgspec import Struct

from grader.processes.examiner_process import Service, ServiceRequest
from grader.processes.pool import ExaminerPool, PoolClient
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import Submission, Unreadable
from grader.verdict.verdict import Verdict, refuse

SERVICE = "grader.verdict.service"


class JudgeRequest(Struct, frozen=True, kw_only=True):
    """A request for the verdict on a submission."""

    exercise: str
    submission: Submission
    file: str
    seed: int


class PooledJudge:
    """Judges submissions to one course, from any number of threads.

    Restarts a process if an exercise's files have changed since it read them.
    """

    def __init__(self, pool: ExaminerPool, course: Course, *, strict: bool = False) -> None:
        self._course = course
        options = ["--strict"] if strict else []
        self._client = PoolClient(pool, Service(module=SERVICE, arguments=(str(course.root), *options)))

    def judge(self, exercise_id: str, read: Submission | Unreadable, file: str, seed: int) -> Verdict:
        """Return the verdict on a file that was read; `file` is its name in the verdict.

        Raises what `Judge` raises, and `ExaminerDiedError` or `CancelledError`.
        """
        exercise = load_exercise(self._course.description(exercise_id))
        refused = refuse(exercise, read, file, seed)
        if refused is not None:
            return refused
        assert isinstance(read, Submission)
        request = ServiceRequest(
            body=JudgeRequest(exercise=exercise_id, submission=read, file=file, seed=seed),
            name=read.name,
            seconds=exercise.limits.seconds.total,
            topic=exercise_id,
            stamps=self._course.stamps(exercise_id),
        )
        return self._client.ask(request, Verdict)

    def cancel(self) -> None:
        """End the requests in progress and refuse new ones, permanently. Callable from any thread."""
        self._client.cancel()
