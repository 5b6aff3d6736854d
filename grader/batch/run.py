"""The loop of a batch: a few submissions at a time go from their layout by the examiners into the gradebook."""

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any

from msgspec import Struct, field, structs

from grader.batch import work
from grader.batch.dedupe import Candidate, Sharing
from grader.batch.submissions import GONE, Entry, EntryReader, Taken
from grader.batch.work import Job, Judged, Place, Watchword, versions
from grader.course.loading import load_exercise
from grader.course.paths import Course
from grader.course.records import Exercise
from grader.errors import KitError, SpecError
from grader.gradebook import Gradebook, Handed, Versions
from grader.submission import Submission
from grader.verdict.verdict import refuse

IN_FLIGHT = 4
"""Submissions under way for each examiner, so that none waits for the next while the gradebook is written."""

MOST_WAITING = 256
"""Submissions that wait for the verdict of one that is alike."""

TICK_SECONDS = 1.0
"""How often progress is shown while nothing ends."""

LOSSES_IN_A_ROW = 20
"""After so many submissions that the kit could not judge it is not the submissions' doing, and a batch ends."""


CHANGED = "it was changed while the batch ran; run the same command again"


class Engine(Struct, frozen=True):
    """Where submissions are judged: what runs functions of `grader.batch.work`, how many at once, and their place."""

    executor: Executor
    width: int
    place: Place


class Progress(Struct):
    """How far a batch is; `position` counts in the layout's own terms. `broken` says why exercises were left out."""

    position: int = 0
    judged: int = 0
    shared: int = 0
    skipped: int = 0
    not_judged: int = 0
    left: int = 0
    broken: dict[str, str] = field(default_factory=dict)

    def done(self) -> int:
        """Submissions that were dealt with."""
        return self.judged + self.shared + self.skipped + self.not_judged + self.left

    def is_complete(self) -> bool:
        """Whether every submission has a verdict."""
        return not self.not_judged and not self.left


class Batch:
    """One run over submissions."""

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
        self._shares = shares
        self._show = show
        self._open_counts = not engine.place.is_strict
        self._sharing = Sharing(gradebook, seed, open_counts=self._open_counts)
        self._exercises: dict[str, tuple[Exercise, Versions, Watchword]] = {}
        self._queue: deque[tuple[Candidate, Future[str] | None]] = deque()
        self._running: dict[Future[Judged], Candidate] = {}
        self._is_tried = False
        self._losses = 0
        self._id = 0

    def run(self, entries: Iterable[Entry], reader: EntryReader, batch: int) -> None:
        """Judge what the gradebook does not hold yet.

        Raises `KitError` where nothing can be judged or recorded; what was recorded before stays.
        """
        self._id = batch
        for entry in entries:
            self.progress.position = entry.position
            self._take(entry, reader)
            self._decide()
            while self._is_full():
                self._step()
            self._show(self.progress)
        while self._queue or self._running:
            self._step()
        self._gradebook.end_batch(batch)

    def _is_full(self) -> bool:
        under_way = len(self._queue) + len(self._running)
        return under_way >= IN_FLIGHT * self._engine.width or self._sharing.waiting >= MOST_WAITING

    def _take(self, entry: Entry, reader: EntryReader) -> None:
        """Read one submission and queue it, unless the gradebook holds its verdict or it needs none."""
        opened = self._open(entry.exercise)
        if opened is None:
            self.progress.left += 1
            return
        exercise, version, _ = opened
        taken = reader.take(entry)
        handed = Handed(entry.student, entry.exercise, taken.file, taken.digest(), "", taken.remark)
        if taken.is_gone:
            self._lose(handed, version, GONE)
        elif self._gradebook.is_judged(handed, version, open_counts=self._open_counts):
            self.progress.skipped += 1
        else:
            self._queue_up(handed, version, taken, exercise)

    def _queue_up(self, handed: Handed, version: Versions, taken: Taken, exercise: Exercise) -> None:
        submission = taken.submission
        verdict = refuse(exercise, submission, handed.file, self._seed)
        if verdict is not None:
            self._gradebook.record(self._id, handed, version, verdict)
            self.progress.judged += 1
            return
        assert isinstance(submission, Submission)
        if not self._can_judge(handed.exercise):
            self.progress.left += 1
            return
        reading = None
        if self._shares and not self._sharing.is_copy(handed, version):
            reading = self._engine.executor.submit(work.fingerprint, self._engine.place, submission)
        self._queue.append((Candidate(handed, version, submission), reading))

    def _decide(self) -> None:
        """Share or judge those at the head of the queue whose fingerprints are known, in the order of submissions."""
        while self._queue and (self._queue[0][1] is None or self._queue[0][1].done()):
            candidate, reading = self._queue.popleft()
            if reading is not None:
                handed = structs.replace(candidate.handed, fingerprint=reading.result())
                candidate = structs.replace(candidate, handed=handed)
            self._share_or_judge(candidate)

    def _share_or_judge(self, candidate: Candidate) -> None:
        handed, version = candidate.handed, candidate.versions
        if self._shares:
            kept = self._sharing.shared(candidate)
            if kept is not None:
                self._gradebook.record_shared(self._id, handed, version, kept)
                self.progress.shared += 1
                return
            if self._sharing.follows(candidate):
                return
        job = Job(handed.exercise, candidate.submission, handed.file, self._seed)
        self._running[self._engine.executor.submit(work.judge, self._engine.place, job)] = candidate

    def _step(self) -> None:
        """Wait for something to end, and go on with it."""
        readings: list[Future[Any]] = [
            reading for _, reading in self._queue if reading is not None and not reading.done()
        ]
        wait((*readings, *self._running), TICK_SECONDS, FIRST_COMPLETED)
        for future in [each for each in self._running if each.done()]:
            candidate = self._running.pop(future)
            self._record(candidate, _result(future))
            for follower in self._sharing.settle(candidate):
                self._share_or_judge(follower)
        self._decide()
        self._show(self.progress)

    def _record(self, candidate: Candidate, judged: Judged) -> None:
        handed = candidate.handed
        if self._exercises[handed.exercise][2].has_changed():
            judged = Judged(None, CHANGED, is_exercise_broken=True)
        if judged.verdict is not None:
            self._gradebook.record(self._id, handed, candidate.versions, judged.verdict)
            self.progress.judged += 1
            self._losses = 0
        elif judged.is_exercise_broken:
            self.progress.broken.setdefault(handed.exercise, judged.error)
            self.progress.left += 1
        else:
            self._lose(handed, candidate.versions, judged.error)
            self._losses += 1
            if self._losses >= LOSSES_IN_A_ROW:
                raise KitError(f"the last {LOSSES_IN_A_ROW} submissions could not be judged: {judged.error}")

    def _lose(self, handed: Handed, version: Versions, reason: str) -> None:
        self._gradebook.record_not_judged(self._id, handed, version, self._seed, reason)
        self.progress.not_judged += 1

    def _open(self, exercise_id: str) -> tuple[Exercise, Versions, Watchword] | None:
        """The exercise as it is now; None where nothing can be judged by it."""
        if exercise_id in self.progress.broken:
            return None
        if exercise_id not in self._exercises:
            watchword = Watchword(self._course, exercise_id)
            try:
                exercise = load_exercise(self._course.description(exercise_id))
            except SpecError as error:
                self.progress.broken[exercise_id] = str(error)
                return None
            self._exercises[exercise_id] = exercise, versions(self._course, exercise_id), watchword
        return self._exercises[exercise_id]

    def _can_judge(self, exercise_id: str) -> bool:
        """Whether an examiner judges the exercise's starter; asked of each examiner, until each has judged one.

        `KitError` where that shows that nothing can be judged here.
        """
        if self._is_tried:
            return True
        submit, place = self._engine.executor.submit, self._engine.place
        trials = [submit(work.trial, place, exercise_id) for _ in range(self._engine.width)]
        for judged in [each.result() for each in trials]:
            if judged.verdict is not None:
                continue
            if not judged.is_exercise_broken:
                raise KitError(judged.error + ("; --allow-open grades all the same" if judged.is_host_open else ""))
            self.progress.broken[exercise_id] = judged.error
            return False
        self._is_tried = True
        return True


def _result(future: Future[Judged]) -> Judged:
    """What a task came to; whatever else it raised is the kit's fault for this one submission."""
    try:
        return future.result()
    except Exception as error:  # noqa: BLE001 - a cluster's own errors, and a bug that must not end the batch
        return Judged(None, f"{type(error).__name__}: {error}")
