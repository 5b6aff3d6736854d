"""The exercise that is followed: what is in its file, what was judged of it, and what was told."""

import time

from msgspec import structs

from grader.course.paths import Course
from grader.course.records import Exercise
from grader.report.overview import Entry
from grader.student.progress import load_progress, remember_verdict
from grader.submission import Unreadable
from grader.submission.choice import choose_file
from grader.verdict.verdict import Result, Verdict
from grader.watch.content import looks_cut_off
from grader.watch.events import FIRST_IS_COMING, Event, Judged, Said, compare
from grader.watch.judging import Judgement, Judging
from grader.watch.saves import signature

QUIET_SECONDS = 0.03
"""How long a file must have stayed as it is before its verdict is shown; it is judged meanwhile."""

LONG_QUIET_SECONDS = 0.4
"""The same for what cannot be graded or looks cut off, as a file does while it is being written."""

SLOW_SECONDS = 0.5
"""After so long somebody who waits is told that the judging goes on."""

CANCEL_SECONDS = 2.0
"""For how long a submission may keep a newer one waiting: longer than a new examiner takes to start."""


class Followed:
    """Has each new content judged, and gives what is to be told of it once the file has been left alone."""

    def __init__(self, course: Course, exercise: Exercise, judging: Judging, *, is_brief: bool) -> None:
        self.exercise = exercise
        self._signature = signature(course, exercise.id)
        self.content = choose_file(course, exercise.id)
        self._course = course
        self._judging = judging
        self._is_brief = is_brief
        self._saved = 0.0
        self._judged: Judgement | None = None
        self._shown: Judgement | None = None
        self._told: Judged | None = None
        self._graded: Verdict | None = None
        self._slow: float | None = None
        self._statuses = load_progress(course, exercise.id).statuses
        self._judge()

    def has_changed(self) -> bool:
        """Whether the files look other than when they were read."""
        return signature(self._course, self.exercise.id) != self._signature

    def look(self) -> None:
        """Read the files, which somebody may have saved, and have what is in them judged where it is new."""
        self._saved = time.monotonic()
        self._signature = signature(self._course, self.exercise.id)
        content = choose_file(self._course, self.exercise.id)
        if content.digest() != self.content.digest():
            self.content, self._judged = content, None
            self._judge()

    def take(self, judgement: Judgement) -> None:
        """Keep the judgement if it is on what there is now, else have that judged."""
        self._judging.finish(judgement)
        is_on_this = judgement.exercise == self.exercise.id and judgement.content.digest() == self.content.digest()
        if is_on_this and not self._is_shown():
            self._judged = judgement
        self._judge()

    def cancel_slow(self) -> None:
        """Give up what keeps a newer submission waiting."""
        if self._judging.outdated_for(self.content) > CANCEL_SECONDS:
            self._judging.cancel()
            self._judge()

    def seconds_to_wait(self, at_most: float) -> float:
        """How long nothing is to be shown, unless something happens."""
        if self._judged is None:
            return min(at_most, SLOW_SECONDS / 2)
        return min(at_most, max(self._saved + self._quiet_seconds(self._judged) - time.monotonic(), 0.0))

    def news(self) -> Event | None:
        """What there is to tell of a file that has not changed since it was judged; its verdict is remembered."""
        judged = self._judged
        if judged is None or self.seconds_to_wait(1.0) > 0:
            return None
        if self.has_changed():
            self.look()
            return None
        self._judged, self._shown = None, judged
        return Said(judged.trouble) if judged.verdict is None else self._tell(judged.verdict)

    def report(self) -> Event | None:
        """The last verdict once more; where the kit could give none, another try and nothing yet."""
        if self._shown is not None and self._shown.verdict is None:
            self._shown = None
            self._judge()
            return None
        if self._told is None:
            return Said(FIRST_IS_COMING)
        return structs.replace(self._told, is_brief=False, is_again=True)

    def verdict(self) -> Verdict | None:
        """The verdict told last, if there is one."""
        return self._told.verdict if self._told else None

    def is_slow(self) -> bool:
        """Whether a judgement has been under way for long enough to be spoken of; asked once for each."""
        started = self._judging.started()
        if started is None or started == self._slow or time.monotonic() - started < SLOW_SECONDS:
            return False
        self._slow = started
        return True

    def is_done(self) -> bool:
        """Whether no more saves are needed."""
        is_fixed = self._graded is not None and self._graded.outcome is Result.FIXED
        progress = load_progress(self._course, self.exercise.id)
        entry = Entry(self.exercise.id, self.exercise.title, progress, self.exercise.is_public())
        return is_fixed or entry.is_done()

    def _judge(self) -> None:
        """Have what there is judged, unless it was or something else is under way: its end leads here again."""
        read = self.content.read
        if self._judged is not None or self._is_shown():
            return
        if isinstance(read, Unreadable):
            self._judged = self._judging.refuse(self.exercise, self.content)
        elif self._judging.is_free():
            self._judging.start(self.exercise.id, self.content)

    def _is_shown(self) -> bool:
        return self._shown is not None and self._shown.content.digest() == self.content.digest()

    def _quiet_seconds(self, judged: Judgement) -> float:
        """How long the file must have been left alone before the judgement on it may be shown."""
        is_graded = judged.verdict is not None and judged.verdict.outcome is not Result.NOT_GRADABLE
        is_cut_off = self._shown is not None and looks_cut_off(self._shown.content, judged.content)
        return QUIET_SECONDS if is_graded and not is_cut_off else LONG_QUIET_SECONDS

    def _tell(self, verdict: Verdict) -> Judged:
        is_first = not self._statuses and self._graded is None
        change = None if is_first else compare(self._statuses, self._graded, verdict)
        before = load_progress(self._course, self.exercise.id)
        remember_verdict(self._course, verdict)
        if verdict.outcome is not Result.NOT_GRADABLE:
            self._statuses = {defect.id: defect.status for defect in verdict.defects}
            self._graded = verdict
        at = time.strftime("%H:%M:%S")
        known = frozenset(before.fixed())
        self._told = Judged(
            self.exercise,
            verdict,
            change,
            self.content.remark,
            at,
            is_brief=self._is_brief,
            known=known,
            first_seen=before.first_seen,
        )
        self._is_brief = False
        return self._told
