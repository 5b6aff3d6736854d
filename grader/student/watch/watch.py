"""A watch: follow one exercise, or the easiest one that is not fixed, and yield events to show."""

import contextlib
import queue
from collections.abc import Iterator

from msgspec import Struct

from grader.errors import KitError, SpecError
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.spec.seeds import secret_seed
from grader.student.changes import changes
from grader.student.hints import next_hint
from grader.student.progress import load_progress
from grader.student.traps import details_of
from grader.student.watch.events import (
    NO_VERDICT_YET,
    Event,
    FinishedEvent,
    FollowingEvent,
    HintEvent,
    TextEvent,
    TrapEvent,
    WaitingEvent,
)
from grader.student.watch.followed import BackgroundJudge, FollowedExercise, Judgement
from grader.student.watch.followed_trap import FollowedTrap, TrapJudgement
from grader.student.watch.inputs import END_OF_INPUT, Keys, Saves
from grader.verdict.verdict import Result

POLL_SECONDS = 0.5
"""Seconds between two polls of the files, in case the system reports no saves."""

HINT, DIFF, REPORT, QUIT = "h", "d", "r", "q"


class Saved(Struct, frozen=True, kw_only=True):
    """Some file was written, moved or deleted."""


class Pressed(Struct, frozen=True, kw_only=True):
    """A key was pressed."""

    key: str


Message = Saved | Pressed | Judgement | TrapJudgement


@contextlib.contextmanager
def watching(course: Course, exercise_id: str | None) -> Iterator["Watch"]:
    """Open a watch of this exercise; without one, of all exercises that are not fixed, one after the other.

    On exit, restore the terminal and end all processes.
    """
    inbox: queue.Queue[Message] = queue.Queue()
    seed = secret_seed()
    judging = BackgroundJudge(course, seed, inbox.put)
    with contextlib.ExitStack() as stack:
        stack.callback(judging.close)
        stack.enter_context(Saves(course, lambda: inbox.put(Saved())))
        keys = Keys(lambda key: inbox.put(Pressed(key=key)))
        stack.callback(keys.close)
        keys.open()
        yield Watch(course, exercise_id, inbox, judging, keys, seed)


class Watch:
    """Turns saves, keys and judgements into events."""

    def __init__(
        self,
        course: Course,
        exercise_id: str | None,
        inbox: "queue.Queue[Message]",
        judging: BackgroundJudge,
        keys: Keys,
        seed: int,
    ) -> None:
        self.keys = keys
        self._seed = seed
        self._course = course
        self._chosen = exercise_id
        self._inbox = inbox
        self._judging = judging
        self._fixed: set[str] = set()
        self._is_over = False

    def events(self) -> Iterator[Event]:
        """Yield events until the student quits or every exercise is fixed."""
        exercise_id = self._chosen or self._first_unfixed()
        is_next = False
        while exercise_id:
            exercise = load_exercise(self._course.description(exercise_id))
            followed = FollowedExercise(self._course, exercise, self._judging, is_brief=is_next)
            trap = FollowedTrap(self._course, exercise_id, self._seed, self._inbox.put)
            file = self._course.shown(followed.content.path)
            yield FollowingEvent(exercise=exercise, file=file, is_next=is_next)
            with contextlib.closing(trap):
                yield from self._follow(followed, trap)
            if self._is_over:
                return
            exercise_id, is_next = self._first_unfixed(), True
        yield FinishedEvent()

    def _first_unfixed(self) -> str | None:
        """Return the easiest exercise that is not fixed; None if all are.

        Skip exercises with a wrong description. Raise `SpecError` if only such exercises remain.
        """
        remaining, first_error = [], None
        for exercise_id in self._course.exercise_ids():
            try:
                exercise = load_exercise(self._course.description(exercise_id))
            except SpecError as error:
                first_error = first_error or error
                continue
            is_fixed = load_progress(self._course, exercise_id).outcome is Result.FIXED
            if exercise_id not in self._fixed and not is_fixed:
                remaining.append((exercise.difficulty, exercise_id))
        if first_error and not remaining:
            raise first_error
        return min(remaining)[1] if remaining else None

    def _follow(self, followed: FollowedExercise, trap: FollowedTrap) -> Iterator[Event]:
        """Yield events until the student quits or, if no exercise was named, until this one is fixed."""
        while True:
            message = self._next_message(followed)
            if isinstance(message, Pressed):
                if message.key in (QUIT, END_OF_INPUT):
                    self._is_over = True
                    return
                yield from self._press(followed, message.key)
            elif isinstance(message, Judgement):
                followed.receive(message)
            elif isinstance(message, TrapJudgement):
                yield from self._page_of(message, followed)
            elif message or followed.has_changed():
                followed.read_files()
            trap.read_file()
            followed.cancel_slow()
            if followed.is_slow():
                yield WaitingEvent(file=followed.content.path.name)
            event = followed.next_event()
            if event is not None:
                yield event
                if self._chosen is None and followed.is_done():
                    self._fixed.add(followed.exercise.id)
                    return

    def _next_message(self, followed: FollowedExercise) -> Message | None:
        """Return the next message; None after a timeout."""
        try:
            return self._inbox.get(timeout=followed.seconds_to_wait(POLL_SECONDS))
        except queue.Empty:
            return None

    def _press(self, followed: FollowedExercise, key: str) -> Iterator[Event]:
        """Yield the event that a key requests. An error becomes a text event."""
        exercise = followed.exercise
        try:
            if key == HINT:
                verdict = followed.verdict()
                if verdict is None:
                    yield TextEvent(text=NO_VERDICT_YET)
                else:
                    yield HintEvent(hint=next_hint(self._course, exercise, verdict))
            elif key == DIFF:
                yield TextEvent(text=changes(self._course, exercise.id) or "Nothing has changed since the starter.")
            elif key == REPORT:
                event = followed.repeat()
                if event is not None:
                    yield event
        except (KitError, OSError) as error:
            yield TextEvent(text=str(error))

    def _page_of(self, judgement: TrapJudgement, followed: FollowedExercise) -> Iterator[Event]:
        """Yield the page of a trap, unless it has no tests or belongs to an exercise that was followed before."""
        if judgement.exercise != followed.exercise.id:
            return
        if judgement.error:
            yield TextEvent(text=judgement.error)
        elif judgement.result is not None:
            try:
                details = details_of(self._course, judgement.result)  # only this thread writes the progress
            except (KitError, OSError) as error:
                yield TextEvent(text=str(error))
                return
            yield TrapEvent(file=judgement.file, at=judgement.at, result=judgement.result, details=details)
