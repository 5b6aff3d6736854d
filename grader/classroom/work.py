"""The kinds of work that students hand in. `WORK` has a class for each, which judges, records and rescores it."""

from abc import ABC, abstractmethod
from functools import lru_cache
from sqlite3 import Connection, Row
from typing import ClassVar

from msgspec import Struct

from grader.classroom.gradebook import Gradebook, SubmissionRecord, Versions, WorkKind
from grader.classroom.gradebook.rescoring import rescore_module, rescore_trap
from grader.processes.pool import ExaminerPool
from grader.spec.exercise import Exercise
from grader.spec.paths import TRAP, Course
from grader.submission import Submission, Unreadable
from grader.trap import counting
from grader.trap.implementations import trap_digest
from grader.trap.pooled_judge import PooledTrapJudge
from grader.trap.reading import is_unwritten, refuse_trap, trap_of
from grader.trap.result import TrapResult
from grader.verdict.digest import exercise_digest, kit_version, torch_version
from grader.verdict.pooled_judge import PooledJudge
from grader.verdict.verdict import Verdict, refuse, verdict_with_points

DIGEST_LENGTH = 12
CACHED_DIGESTS = 256


class Task(Struct, frozen=True, kw_only=True, eq=False):
    """A submission to judge, and everything else that its verdict depends on."""

    record: SubmissionRecord
    versions: Versions
    submission: Submission
    seed: int


class TaskResult(Struct, frozen=True, kw_only=True):
    """The verdict, or the result of a trap; else the error, and whether the exercise or an open host caused it."""

    verdict: Verdict | None = None
    trap: TrapResult | None = None
    error: str = ""
    is_exercise_broken: bool = False
    is_host_open: bool = False

    def is_judged(self) -> bool:
        """Return whether there is a verdict or the result of a trap."""
        return self.verdict is not None or self.trap is not None


class CourseJudges:
    """The judges of one course. Their examiner processes are those of a pool."""

    def __init__(self, pool: ExaminerPool, course: Course, *, strict: bool) -> None:
        self.modules = PooledJudge(pool, course, strict=strict)
        self.traps = PooledTrapJudge(pool, course, strict=strict)

    def cancel(self) -> None:
        """End the requests in progress and refuse new ones, permanently. Callable from any thread."""
        self.modules.cancel()
        self.traps.cancel()


class Work(ABC):
    """A kind of work."""

    digest_prefix: ClassVar[bytes]
    """The first bytes of what a source's digest is made of, so that sources of different kinds share no verdict."""
    has_known_seed: ClassVar[bool]
    """Whether a first submission has the seed of its batch. Otherwise, nobody can derive a seed without a secret."""
    points_suffix: ClassVar[str]
    """The end of the gradebook's setting with the points by which verdicts were scored."""

    @abstractmethod
    def file_name(self, course: Course, exercise_id: str) -> str:
        """Return the usual name of the file."""

    @abstractmethod
    def exercise_digest(self, course: Course, exercise_id: str) -> str:
        """Digest everything of an exercise that verdicts depend on."""

    def versions(self, course: Course, exercise_id: str) -> Versions:
        """Return the current versions of the kit, torch and an exercise."""
        digest = self.exercise_digest(course, exercise_id)[:DIGEST_LENGTH]
        return Versions(kit=kit_version(course), torch=torch_version(), exercise=digest)

    @abstractmethod
    def needs_no_verdict(self, read: Submission | Unreadable) -> bool:
        """Return whether a file counts as not handed in."""

    @abstractmethod
    def refuse(self, exercise: Exercise, read: Submission | Unreadable, file: str, seed: int) -> TaskResult | None:
        """Return the result of a file that cannot run; None if it can."""

    @abstractmethod
    def judge(self, judges: CourseJudges, task: Task) -> TaskResult:
        """Judge a submission. Raise `KitError` if the kit cannot."""

    @abstractmethod
    def record(
        self,
        gradebook: Gradebook,
        batch: int,
        submission: SubmissionRecord,
        versions: Versions,
        result: TaskResult,
        exercise: Exercise,
    ) -> None:
        """Record a result, with the points of this description."""

    @abstractmethod
    def rescore(self, connection: Connection, exercise: Exercise, verdict: Row) -> None:
        """Update a recorded verdict to the points of this description."""


class ModuleWork(Work):
    """A module whose defects the student fixes."""

    digest_prefix = b""
    has_known_seed = True
    points_suffix = ""

    def file_name(self, course: Course, exercise_id: str) -> str:
        return course.module_name(exercise_id)

    def exercise_digest(self, course: Course, exercise_id: str) -> str:
        return _digest_of_exercise(course, exercise_id, course.stamps(exercise_id))

    def needs_no_verdict(self, read: Submission | Unreadable) -> bool:
        return False

    def refuse(self, exercise: Exercise, read: Submission | Unreadable, file: str, seed: int) -> TaskResult | None:
        verdict = refuse(exercise, read, file, seed)
        return None if verdict is None else TaskResult(verdict=verdict)

    def judge(self, judges: CourseJudges, task: Task) -> TaskResult:
        record = task.record
        return TaskResult(verdict=judges.modules.judge(record.exercise, task.submission, record.file, task.seed))

    def record(
        self,
        gradebook: Gradebook,
        batch: int,
        submission: SubmissionRecord,
        versions: Versions,
        result: TaskResult,
        exercise: Exercise,
    ) -> None:
        assert result.verdict is not None
        verdict = verdict_with_points(result.verdict, exercise)
        gradebook.record(batch, submission, versions, verdict, exercise.numbers())

    def rescore(self, connection: Connection, exercise: Exercise, verdict: Row) -> None:
        rescore_module(connection, exercise, verdict)


class TrapWork(Work):
    """A trap: tests that catch the defects. A test can print random numbers and so reveal its seed."""

    digest_prefix = b"trap\0"
    has_known_seed = False
    points_suffix = ", traps"

    def file_name(self, course: Course, exercise_id: str) -> str:
        return TRAP

    def exercise_digest(self, course: Course, exercise_id: str) -> str:
        return trap_digest(course, exercise_id)

    def needs_no_verdict(self, read: Submission | Unreadable) -> bool:
        return is_unwritten(read)

    def refuse(self, exercise: Exercise, read: Submission | Unreadable, file: str, seed: int) -> TaskResult | None:
        trap = refuse_trap(exercise, read, file, seed)
        return None if trap is None else TaskResult(trap=trap)

    def judge(self, judges: CourseJudges, task: Task) -> TaskResult:
        record = task.record
        trap = trap_of(task.submission, record.file)
        return TaskResult(trap=judges.traps.judge(record.exercise, trap, task.seed))

    def record(
        self,
        gradebook: Gradebook,
        batch: int,
        submission: SubmissionRecord,
        versions: Versions,
        result: TaskResult,
        exercise: Exercise,
    ) -> None:
        assert result.trap is not None
        gradebook.record_trap(batch, submission, versions, counting.with_points(result.trap, exercise))

    def rescore(self, connection: Connection, exercise: Exercise, verdict: Row) -> None:
        rescore_trap(connection, exercise, verdict)


WORK: dict[WorkKind, Work] = {WorkKind.MODULE: ModuleWork(), WorkKind.TRAP: TrapWork()}
"""The class of each kind."""


@lru_cache(maxsize=CACHED_DIGESTS)
def _digest_of_exercise(course: Course, exercise_id: str, _stamps: tuple[tuple[str, int, int], ...]) -> str:
    """Digest an exercise once until its files change: a cluster's worker needs the digest for every task."""
    return exercise_digest(course, exercise_id)
