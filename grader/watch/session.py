"""A watch: follows one exercise, or the first that is not yet fixed, and yields what there is to show."""

import contextlib
import queue
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import Struct, structs

from grader.attribution import DefectStatus
from grader.course import Course
from grader.errors import KitError
from grader.exercise import Exercise, load_exercise
from grader.grading import MAX_SEED
from grader.progress import load_progress, remember_verdict
from grader.report.overview import Entry
from grader.submission import Unreadable
from grader.verdict import Result, Verdict
from grader.watch.change import compare
from grader.watch.content import Content, looks_cut_off, read_content
from grader.watch.events import Event, Finished, Following, Judged, Said
from grader.watch.judging import Judgement, Judging
from grader.watch.keys import END_OF_INPUT, Keys
from grader.watch.saves import Saves, signature
from grader.workbench import changes, next_hint

QUIET_SECONDS = 0.03
"""How long a file must have stayed as it is before its verdict is shown; it is judged meanwhile."""

LONG_QUIET_SECONDS = 0.4
"""The same for what cannot be graded or looks cut off, as a file does while it is being written."""

LOOK_SECONDS = 0.5
"""How often the files are looked at where no event tells of a save."""

LET_GO_SECONDS = 2.0
"""For how long a submission may keep a newer one waiting: longer than a new examiner takes to start."""

HINT, DIFF, REPORT, QUIT = "h", "d", "r", "q"


class Saved(Struct, frozen=True):
    """Some file was written, moved or deleted."""


class Pressed(Struct, frozen=True):
    """A key was pressed."""

    key: str


Message = Saved | Pressed | Judgement


@dataclass
class _Followed:
    """What is known of the exercise that is followed."""

    exercise: Exercise
    statuses: dict[str, DefectStatus]
    is_brief: bool
    content: Content | None = None
    judged: Judgement | None = None
    shown: Judgement | None = None
    told: Judged | None = None
    graded: Verdict | None = None
    signature: tuple[tuple[int, ...], ...] = ()
    saved: float = 0.0

    def is_shown(self) -> bool:
        """Whether there is nothing new to judge or to show."""
        assert self.content is not None
        return self.shown is not None and self.shown.content.digest() == self.content.digest()


@contextlib.contextmanager
def watching(course: Course, exercise_id: str | None) -> Iterator["Session"]:
    """A watch of the exercise, or of one after the other. It leaves the terminal as it was, and no process."""
    inbox: queue.Queue[Message] = queue.Queue()
    judging = Judging(course, secrets.randbelow(MAX_SEED), inbox.put)
    with contextlib.ExitStack() as stack:
        stack.callback(judging.close)
        stack.enter_context(Saves(course, lambda: inbox.put(Saved())))
        keys = stack.enter_context(Keys(lambda key: inbox.put(Pressed(key))))
        yield Session(course, exercise_id, inbox, judging, keys)


class Session:
    """Turns saves, keys and judgements into events."""

    def __init__(
        self,
        course: Course,
        exercise_id: str | None,
        inbox: "queue.Queue[Message]",
        judging: Judging,
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
            followed = _Followed(exercise, load_progress(self._course, exercise_id).statuses, is_next)
            self._look(followed)
            assert followed.content is not None
            yield Following(exercise, str(followed.content.path.relative_to(self._course.root)), is_next)
            yield from self._follow(followed)
            if self._is_over:
                return
            exercise_id, is_next = self._first_left(), True
        yield Finished()

    def _first_left(self) -> str | None:
        """The first exercise that is not yet done."""
        for exercise_id in self._course.exercise_ids():
            exercise = load_exercise(self._course.description(exercise_id))
            entry = Entry(exercise_id, exercise.title, load_progress(self._course, exercise_id), exercise.is_public())
            if exercise_id not in self._fixed and not entry.is_done():
                return exercise_id
        return None

    def _follow(self, followed: _Followed) -> Iterator[Event]:
        """What happens until somebody quits or, where no exercise was named, this one is fixed."""
        while True:
            message = self._next_message(followed)
            if isinstance(message, Pressed):
                if message.key in (QUIT, END_OF_INPUT):
                    self._is_over = True
                    return
                yield from self._press(followed, message.key)
            elif isinstance(message, Judgement):
                self._take(followed, message)
            elif message or signature(self._course, followed.exercise.id) != followed.signature:
                followed.saved = time.monotonic()
                self._look(followed)
            self._let_go_of_slow(followed)
            if self._is_due(followed):
                yield self._show(followed)
                if self._chosen is None and self._is_done(followed):
                    self._fixed.add(followed.exercise.id)
                    return

    def _next_message(self, followed: _Followed) -> Message | None:
        """The next message, or None once something else is to be looked at."""
        now = time.monotonic()
        wait = LOOK_SECONDS
        if followed.judged is not None:
            wait = min(wait, followed.saved + self._quiet_seconds(followed, followed.judged) - now)
        try:
            return self._inbox.get(timeout=max(wait, 0.0))
        except queue.Empty:
            return None

    def _look(self, followed: _Followed) -> None:
        """Read what there is, and have it judged where it is new."""
        exercise_id = followed.exercise.id
        followed.signature = signature(self._course, exercise_id)
        content = read_content(self._course, exercise_id)
        if followed.content is not None and followed.content.digest() == content.digest():
            return
        followed.content, followed.judged = content, None
        self._judge(followed)

    def _judge(self, followed: _Followed) -> None:
        """Have what there is judged, unless it was or something else is under way: its end leads here again."""
        content = followed.content
        assert content is not None
        if followed.judged is not None or followed.is_shown():
            return
        if isinstance(content.read, Unreadable):
            followed.judged = self._judging.judge_unreadable(followed.exercise.id, content, content.read.reason)
        elif self._judging.is_free():
            self._judging.start(followed.exercise.id, content)

    def _take(self, followed: _Followed, judgement: Judgement) -> None:
        """Keep the judgement if it is on what there is now, else have that judged."""
        assert followed.content is not None
        self._judging.finish(judgement)
        is_on_this = judgement.exercise == followed.exercise.id
        if is_on_this and judgement.content.digest() == followed.content.digest() and not followed.is_shown():
            followed.judged = judgement
        self._judge(followed)

    def _let_go_of_slow(self, followed: _Followed) -> None:
        """Give up what keeps a newer submission waiting."""
        assert followed.content is not None
        if self._judging.outdated_for(followed.content) > LET_GO_SECONDS:
            self._judging.let_go()
            self._judge(followed)

    def _quiet_seconds(self, followed: _Followed, judged: Judgement) -> float:
        """How long the file must have been left alone before the judgement on it may be shown."""
        is_graded = judged.verdict is not None and judged.verdict.outcome is not Result.NOT_GRADABLE
        is_cut_off = followed.shown is not None and looks_cut_off(followed.shown.content, judged.content)
        return QUIET_SECONDS if is_graded and not is_cut_off else LONG_QUIET_SECONDS

    def _is_due(self, followed: _Followed) -> bool:
        """Whether there is a judgement to show, on a file that has not changed since."""
        judged = followed.judged
        if judged is None or time.monotonic() < followed.saved + self._quiet_seconds(followed, judged):
            return False
        if signature(self._course, followed.exercise.id) == followed.signature:
            return True
        followed.saved = time.monotonic()
        self._look(followed)
        return False

    def _show(self, followed: _Followed) -> Event:
        """The event that tells of the judgement; its verdict is remembered as `grade` does."""
        judgement, followed.judged = followed.judged, None
        assert judgement is not None
        followed.shown = judgement
        if judgement.verdict is None:
            return Said(judgement.trouble)
        verdict = judgement.verdict
        change = compare(followed.statuses, followed.graded, verdict) if followed.statuses or followed.graded else None
        remember_verdict(self._course, verdict)
        if verdict.outcome is not Result.NOT_GRADABLE:
            followed.statuses = {defect.id: defect.status for defect in verdict.defects}
            followed.graded = verdict
        at = time.strftime("%H:%M:%S")
        remark = judgement.content.remark
        told = Judged(followed.exercise, verdict, change, remark, at, is_brief=followed.is_brief)
        followed.is_brief = False
        followed.told = told
        return told

    def _is_done(self, followed: _Followed) -> bool:
        """Whether the exercise that is followed needs no more saves."""
        exercise = followed.exercise
        progress = load_progress(self._course, exercise.id)
        is_fixed = followed.graded is not None and followed.graded.outcome is Result.FIXED
        return is_fixed or Entry(exercise.id, exercise.title, progress, exercise.is_public()).is_done()

    def _press(self, followed: _Followed, key: str) -> Iterator[Event]:
        """What a key asks for."""
        try:
            if key == HINT:
                yield Said(next_hint(self._course, followed.exercise))
            elif key == DIFF:
                yield Said(changes(self._course, followed.exercise.id) or "Nothing has changed since the starter.")
            elif key == REPORT:
                yield from self._report(followed)
        except (KitError, OSError) as error:
            yield Said(str(error))

    def _report(self, followed: _Followed) -> Iterator[Event]:
        """The last verdict once more; where the kit could give none, another try."""
        is_trouble = followed.shown is not None and followed.shown.verdict is None
        if is_trouble:
            followed.shown = None
            self._judge(followed)
        elif followed.told is not None:
            yield structs.replace(followed.told, is_brief=False, is_again=True)
        else:
            yield Said("The first verdict is on its way.")
