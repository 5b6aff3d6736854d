"""A watch: follow one exercise, or the easiest one that is not fixed, and yield events to show."""

import contextlib
import queue
import secrets
from collections.abc import Iterator

from msgspec import Struct

from grader.errors import KitError, SpecError
from grader.report.tables import OverviewLine
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.student.changes import changes
from grader.student.hints import next_hint
from grader.student.progress import load_progress
from grader.student.watch.events import (
    FIRST_IS_COMING,
    Event,
    FinishedEvent,
    FollowingEvent,
    HintEvent,
    TextEvent,
    WaitingEvent,
)
from grader.student.watch.followed import BackgroundJudge, FollowedExercise, Judgement
from grader.student.watch.inputs import END_OF_INPUT, Keys, Saves
from grader.verdict.judge import MAX_SEED

LOOK_SECONDS = 0.5
"""Seconds between two looks at the files where no event reports a save."""

HINT, DIFF, REPORT, QUIT = "h", "d", "r", "q"


class Saved(Struct, frozen=True):
    """Some file was written, moved or deleted."""


class Pressed(Struct, frozen=True):
    """A key was pressed."""

    key: str


Message = Saved | Pressed | Judgement


@contextlib.contextmanager
def watching(course: Course, exercise_id: str | None) -> Iterator["Watch"]:
    """A watch of the exercise, or of one after the other. It leaves the terminal as it was, and no process."""
    inbox: queue.Queue[Message] = queue.Queue()
    judging = BackgroundJudge(course, secrets.randbelow(MAX_SEED), inbox.put)
    with contextlib.ExitStack() as stack:
        stack.callback(judging.close)
        stack.enter_context(Saves(course, lambda: inbox.put(Saved())))
        keys = Keys(lambda key: inbox.put(Pressed(key)))
        stack.callback(keys.close)
        keys.open()
        yield Watch(course, exercise_id, inbox, judging, keys)


class Watch:
    """Turns saves, keys and judgements into events."""

    def __init__(
        self,
        course: Course,
        exercise_id: str | None,
        inbox: "queue.Queue[Message]",
        judging: BackgroundJudge,
        keys: Keys,
    ) -> None:
        self.keys = keys
        self._course = course
        self._chosen = exercise_id
        self._inbox = inbox
        self._judging = judging
        self._fixed: set[str] = set()
        self._is_over = False

    def events(self) -> Iterator[Event]:
        """What happens, until somebody quits or every exercise is fixed."""
        exercise_id = self._chosen or self._first_left()
        is_next = False
        while exercise_id:
            exercise = load_exercise(self._course.description(exercise_id))
            followed = FollowedExercise(self._course, exercise, self._judging, is_brief=is_next)
            yield FollowingEvent(exercise, str(followed.content.path.relative_to(self._course.root)), is_next)
            yield from self._follow(followed)
            if self._is_over:
                return
            exercise_id, is_next = self._first_left(), True
        yield FinishedEvent()

    def _first_left(self) -> str | None:
        """The easiest exercise that is not yet done. One that cannot be read is passed over while others are left."""
        left, broken = [], None
        for exercise_id in self._course.exercise_ids():
            try:
                exercise = load_exercise(self._course.description(exercise_id))
            except SpecError as error:
                broken = broken or error
                continue
            entry = OverviewLine(exercise_id, exercise.title, load_progress(self._course, exercise_id))
            if exercise_id not in self._fixed and not entry.is_done():
                left.append((exercise.difficulty, exercise_id))
        if broken and not left:
            raise broken
        return min(left)[1] if left else None

    def _follow(self, followed: FollowedExercise) -> Iterator[Event]:
        """What happens until somebody quits or, where no exercise was named, this one is fixed."""
        while True:
            message = self._next_message(followed)
            if isinstance(message, Pressed):
                if message.key in (QUIT, END_OF_INPUT):
                    self._is_over = True
                    return
                yield from self._press(followed, message.key)
            elif isinstance(message, Judgement):
                followed.take(message)
            elif message or followed.has_changed():
                followed.look()
            followed.cancel_slow()
            if followed.is_slow():
                yield WaitingEvent(followed.content.path.name)
            news = followed.news()
            if news is not None:
                yield news
                if self._chosen is None and followed.is_done():
                    self._fixed.add(followed.exercise.id)
                    return

    def _next_message(self, followed: FollowedExercise) -> Message | None:
        """The next message, or None once something else is to be looked at."""
        try:
            return self._inbox.get(timeout=followed.seconds_to_wait(LOOK_SECONDS))
        except queue.Empty:
            return None

    def _press(self, followed: FollowedExercise, key: str) -> Iterator[Event]:
        """What a key asks for."""
        exercise = followed.exercise
        try:
            if key == HINT:
                verdict = followed.verdict()
                yield HintEvent(next_hint(self._course, exercise, verdict)) if verdict else TextEvent(FIRST_IS_COMING)
            elif key == DIFF:
                yield TextEvent(changes(self._course, exercise.id) or "Nothing has changed since the starter.")
            elif key == REPORT:
                again = followed.report()
                if again is not None:
                    yield again
        except (KitError, OSError) as error:
            yield TextEvent(str(error))
