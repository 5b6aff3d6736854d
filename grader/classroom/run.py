"""The loop of a batch: take submissions from the layout, judge them in the engine, record them in the gradebook."""

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Protocol

from msgspec import Struct, field

from grader.classroom import tasks
from grader.classroom.gradebook import Gradebook, SubmissionRecord, Versions, WorkKind
from grader.classroom.layouts.files import SubmissionFiles
from grader.classroom.regrade import rescore
from grader.classroom.tasks import GONE, Deduplicator, SubmissionLoader
from grader.classroom.work import WORK, Task, TaskResult
from grader.errors import KitError, SpecError
from grader.spec.exercise import Exercise
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import Submission, Unreadable

IN_FLIGHT = 4
"""Submissions in progress for each examiner, so that no examiner waits while the gradebook is written."""

MAX_WAITING = 256
"""The most submissions that wait for the verdict of an equal one."""

TICK_SECONDS = 1.0
"""How often progress is shown while no task ends."""

UNJUDGED_IN_A_ROW = 20
"""After this many different submissions that the kit could not judge, judge the starter: the kit may be at fault."""

CHANGED = "it was changed while the batch ran; run the same command again"


class Engine(Protocol):
    """Judges submissions, on this machine or on others."""

    width: int
    """The number of tasks that run at once."""
    is_strict: bool
    """Whether judging is forbidden if files or the network are open."""
    memory_bytes: int
    """The memory of this machine; 0 if it is unknown or if other machines judge."""

    def judge(self, task: Task) -> Future[TaskResult]:
        """Return the future of a task's result."""


class Progress(Struct, kw_only=True):
    """The progress of a batch. `position` is that of the last submission read from its layout; the others are counts.

    `waiting` submissions are read and have no verdict yet. `skipped` submissions had a verdict already. `left_out` ones
    belong to a broken exercise; `broken` has the reason for each such exercise.
    """

    position: int = 0
    waiting: int = 0
    judged: int = 0
    shared: int = 0
    skipped: int = 0
    not_judged: int = 0
    left_out: int = 0
    rescored: int = 0
    broken: dict[str, str] = field(default_factory=dict)

    def done(self) -> float:
        """Return about the position up to which submissions have a verdict, from the share that have ended."""
        ended = self.judged + self.shared + self.skipped + self.not_judged + self.left_out
        return self.position * ended / (ended + self.waiting) if self.waiting else self.position

    def is_complete(self) -> bool:
        """Return whether every submission has a verdict."""
        return not self.not_judged and not self.left_out


class OpenExercise(Struct, frozen=True, kw_only=True):
    """An exercise, loaded for its first submission, and the stamps of its files, which reveal later changes."""

    exercise: Exercise
    versions: dict[WorkKind, Versions]
    stamps: tuple[tuple[str, int, int], ...]


class Batch:
    """One run of a batch over the submissions of a class."""

    def __init__(
        self,
        course: Course,
        gradebook: Gradebook,
        engine: Engine,
        *,
        seed: int,
        shares: bool,
        show: Callable[[Progress], None],
    ) -> None:
        self.progress = Progress()
        self._course = course
        self._gradebook = gradebook
        self._engine = engine
        self._seed = seed
        self._key = gradebook.secret("seed_key")
        self._shares = shares
        self._show = show
        self._accepts_open = not engine.is_strict
        self._deduplicator = Deduplicator(gradebook, accepts_open=self._accepts_open)
        self._exercises: dict[str, OpenExercise] = {}
        self._running: dict[Future[TaskResult], Task] = {}
        self._starter_was_judged = False
        self._unjudged: set[str] = set()
        self._batch_id = 0

    def run(self, submissions: Iterable[SubmissionFiles], loader: SubmissionLoader, batch: int) -> None:
        """Judge the submissions that the gradebook does not have yet.

        Raise `KitError` if nothing can be judged or recorded. Earlier records stay.
        """
        self._batch_id = batch
        for files in submissions:
            self.progress.position = files.position
            self._take(files, loader)
            while self._is_full():
                self._step()
            self._show_progress()
        while self._running:
            self._step()
        self._gradebook.end_batch(batch)

    def _is_full(self) -> bool:
        return len(self._running) >= IN_FLIGHT * self._engine.width or self._deduplicator.waiting >= MAX_WAITING

    def _take(self, files: SubmissionFiles, loader: SubmissionLoader) -> None:
        """Load one submission and queue it, unless the gradebook has its verdict or it needs none."""
        opened = self._open(files.exercise)
        if opened is None:
            self.progress.left_out += 1
            return
        record, submission = loader.load(files)
        versions = opened.versions[record.kind]
        if submission is GONE:
            self._record_not_judged(record, versions, GONE.reason)
        elif WORK[record.kind].needs_no_verdict(submission):
            return
        elif self._gradebook.is_judged(record, versions, accepts_open=self._accepts_open):
            self.progress.skipped += 1
        else:
            self._queue_up(record, submission, opened)

    def _queue_up(self, record: SubmissionRecord, submission: Submission | Unreadable, opened: OpenExercise) -> None:
        seed = tasks.seed_of_attempt(self._key, self._seed, record.kind, self._gradebook.attempt(record))
        refused = WORK[record.kind].refuse(opened.exercise, submission, record.file, seed)
        if refused is not None:
            self._record_judged(record, refused, opened)
            return
        assert isinstance(submission, Submission)
        if not self._can_judge(record.exercise):
            self.progress.left_out += 1
            return
        versions = opened.versions[record.kind]
        self._share_or_judge(Task(record=record, versions=versions, submission=submission, seed=seed))

    def _share_or_judge(self, task: Task) -> None:
        if self._shares:
            shared = self._deduplicator.shared(task)
            if shared is not None:
                self._gradebook.record_shared(self._batch_id, task.record, task.versions, shared)
                self.progress.shared += 1
                return
            if self._deduplicator.follows(task):
                return
        self._running[self._engine.judge(task)] = task

    def _step(self) -> None:
        """Wait until a task ends, or for `TICK_SECONDS`. Record the results of tasks that have ended."""
        wait(self._running, TICK_SECONDS, FIRST_COMPLETED)
        for future in [each for each in self._running if each.done()]:
            task = self._running.pop(future)
            self._record(task, _result(future))
            for follower in self._deduplicator.settle(task):
                self._share_or_judge(follower)
        self._show_progress()

    def _show_progress(self) -> None:
        self.progress.waiting = len(self._running) + self._deduplicator.waiting
        self._show(self.progress)

    def _record(self, task: Task, result: TaskResult) -> None:
        exercise_id = task.record.exercise
        if self._course.stamps(exercise_id) != self._exercises[exercise_id].stamps:
            result = TaskResult(error=CHANGED, is_exercise_broken=True)
        if result.is_judged():
            self._record_judged(task.record, result, self._exercises[exercise_id])
            self._unjudged.clear()
        elif result.is_exercise_broken:
            self.progress.broken.setdefault(exercise_id, result.error)
            self.progress.left_out += 1
        else:
            self._record_not_judged(task.record, task.versions, result.error)
            self._unjudged.add(task.record.digest)
            if len(self._unjudged) >= UNJUDGED_IN_A_ROW:
                if self._failed_starter(exercise_id, 1) is not None:
                    raise KitError(f"the last {UNJUDGED_IN_A_ROW} submissions could not be judged: {result.error}")
                self._unjudged.clear()

    def _record_judged(self, record: SubmissionRecord, result: TaskResult, opened: OpenExercise) -> None:
        versions, exercise = opened.versions[record.kind], opened.exercise
        WORK[record.kind].record(self._gradebook, self._batch_id, record, versions, result, exercise)
        self.progress.judged += 1

    def _record_not_judged(self, record: SubmissionRecord, versions: Versions, reason: str) -> None:
        self._gradebook.record_not_judged(self._batch_id, record, versions, self._seed, reason)
        self.progress.not_judged += 1

    def _open(self, exercise_id: str) -> OpenExercise | None:
        """Return the exercise, loaded at its first submission; None if it is broken."""
        if exercise_id in self.progress.broken:
            return None
        if exercise_id not in self._exercises:
            stamps = self._course.stamps(exercise_id)
            try:
                exercise = load_exercise(self._course.description(exercise_id))
            except SpecError as error:
                self.progress.broken[exercise_id] = str(error)
                return None
            versions = {kind: work.versions(self._course, exercise_id) for kind, work in WORK.items()}
            opened = OpenExercise(exercise=exercise, versions=versions, stamps=stamps)
            for kind, version in versions.items():
                self.progress.rescored += rescore(self._gradebook, exercise, version.exercise, kind)
            self._exercises[exercise_id] = opened
        return self._exercises[exercise_id]

    def _can_judge(self, exercise_id: str) -> bool:
        """Return whether the examiners can judge. Until a starter was judged once, judge this exercise's starter on
        each.

        Raise `KitError` if no submission can be judged here.
        """
        if self._starter_was_judged:
            return True
        failed = self._failed_starter(exercise_id, self._engine.width)
        if failed is None:
            self._starter_was_judged = True
        elif failed.is_exercise_broken:
            self.progress.broken[exercise_id] = failed.error
        else:
            raise KitError(failed.error + ("; --allow-open grades all the same" if failed.is_host_open else ""))
        return self._starter_was_judged

    def _failed_starter(self, exercise_id: str, times: int) -> TaskResult | None:
        """Judge the exercise's starter this many times at once. Return the first result without a verdict, if any."""
        starter = tasks.starter_task(self._course, exercise_id, self._exercises[exercise_id].versions[WorkKind.MODULE])
        if isinstance(starter, TaskResult):
            return starter
        futures = [self._engine.judge(starter) for _ in range(times)]
        return next((result for result in map(_result, futures) if not result.is_judged()), None)


def _result(future: Future[TaskResult]) -> TaskResult:
    """Return the result of a task. An exception becomes an error of this one submission."""
    try:
        return future.result()
    except Exception as error:  # noqa: BLE001 - neither an error of the cluster nor a bug may end the batch
        return TaskResult(error=f"{type(error).__name__}: {error}")
