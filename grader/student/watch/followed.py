"""The watched exercise: its file, graded in the background, and the verdicts shown so far."""

import threading
import time
from collections.abc import Callable

from msgspec import Struct, structs

from grader.errors import KitError
from grader.processes.examiner_process import CancelledError
from grader.processes.pool import ExaminerPool
from grader.report.tables import OverviewLine
from grader.spec.exercise import Exercise
from grader.spec.paths import Course
from grader.student.progress import load_progress, remember_verdict
from grader.student.watch.events import FIRST_IS_COMING, Event, TextEvent, VerdictEvent, compare
from grader.student.watch.inputs import looks_cut_off, signature
from grader.submission import Unreadable
from grader.submission.choice import Choice, choose_file
from grader.verdict.pooled_judge import PooledJudge
from grader.verdict.verdict import Result, Verdict, refuse


class Judgement(Struct, frozen=True):
    """What has come of some content: a verdict, or in words why the kit could not give one."""

    exercise: str
    content: Choice
    verdict: Verdict | None
    trouble: str = ""


class BackgroundJudge:
    """Judge in a thread, one content at a time, and report the result. All inputs use one seed."""

    def __init__(self, course: Course, seed: int, tell: Callable[[Judgement], None]) -> None:
        self._course = course
        self._seed = seed
        self._tell = tell
        self._pool = ExaminerPool(most_idle=1)
        self._judge = PooledJudge(self._pool, course)
        self._under_way: str | None = None
        self._started = 0.0

    def start(self, exercise_id: str, content: Choice) -> None:
        """Judge the content; `tell` is called from another thread, once."""
        self._under_way = content.digest()
        self._started = time.monotonic()
        arguments = (self._judge, exercise_id, content)
        threading.Thread(target=self._run, args=arguments, name="judging", daemon=True).start()

    def finish(self, judgement: Judgement) -> None:
        """What was told has been heard: another may start, unless one has that this one came too late for."""
        if judgement.content.digest() == self._under_way:
            self._under_way = None

    def is_free(self) -> bool:
        return self._under_way is None

    def started(self) -> float | None:
        """Return when the current judgement began, on the monotonic clock; None if there is none."""
        return self._started if self._under_way is not None else None

    def outdated_for(self, content: Choice) -> float:
        """Seconds for which something other than the content has been under way; 0.0 where nothing is."""
        is_outdated = self._under_way is not None and self._under_way != content.digest()
        return time.monotonic() - self._started if is_outdated else 0.0

    def cancel(self) -> None:
        """Cancel the current judgement."""
        self._judge.cancel()
        self._judge = PooledJudge(self._pool, self._course)
        self._under_way = None

    def close(self) -> None:
        """End the examiner, at once where it is at work."""
        self._judge.cancel()
        self._pool.close()

    def refuse(self, exercise: Exercise, content: Choice) -> Judgement | None:
        """Return the judgement on a file that needs no examiner; None if it needs one. The current judgement
        continues.
        """
        verdict = refuse(exercise, content.read, self._course.shown(content.path), self._seed)
        return None if verdict is None else Judgement(exercise.id, content, verdict)

    def _run(self, judge: PooledJudge, exercise_id: str, content: Choice) -> None:
        name = self._course.shown(content.path)
        try:
            self._tell(Judgement(exercise_id, content, judge.judge(exercise_id, content.read, name, self._seed)))
        except CancelledError:
            return
        except Exception as error:  # noqa: BLE001 - a thread must not end without a word; the next save tries again
            told = str(error) if isinstance(error, KitError) else f"unexpected {type(error).__name__}: {error}"
            self._tell(Judgement(exercise_id, content, None, told))


QUIET_SECONDS = 0.03
"""How long a file must have stayed as it is before its verdict is shown; it is judged meanwhile."""

LONG_QUIET_SECONDS = 0.4
"""The same for a file that cannot be graded or looks incomplete, as files do while they are written."""

SLOW_SECONDS = 0.5
"""Seconds after which a waiting student is informed that grading continues."""

CANCEL_SECONDS = 2.0
"""For how long a submission may keep a newer one waiting: longer than a new examiner takes to start."""


class FollowedExercise:
    """Judge each new content, and yield its result once the file has not changed for a while."""

    def __init__(self, course: Course, exercise: Exercise, judging: BackgroundJudge, *, is_brief: bool) -> None:
        self.exercise = exercise
        self._signature = signature(course, exercise.id)
        self.content = choose_file(course, exercise.id)
        self._course = course
        self._judging = judging
        self._is_brief = is_brief
        self._saved = 0.0
        self._judged: Judgement | None = None
        self._shown: Judgement | None = None
        self._told: VerdictEvent | None = None
        self._graded: Verdict | None = None
        self._slow: float | None = None
        self._statuses = load_progress(course, exercise.id).statuses
        self._judge()

    def has_changed(self) -> bool:
        """Whether the files look other than when they were read."""
        return signature(self._course, self.exercise.id) != self._signature

    def look(self) -> None:
        """Read the files, and judge their content if it is new."""
        self._saved = time.monotonic()
        self._signature = signature(self._course, self.exercise.id)
        content = choose_file(self._course, self.exercise.id)
        if content.digest() != self.content.digest():
            self.content, self._judged = content, None
            self._judge()

    def take(self, judgement: Judgement) -> None:
        """Keep the judgement if it is on the current content; otherwise judge that."""
        self._judging.finish(judgement)
        is_on_this = judgement.exercise == self.exercise.id and judgement.content.digest() == self.content.digest()
        if is_on_this and not self._is_shown():
            self._judged = judgement
        self._judge()

    def cancel_slow(self) -> None:
        """Cancel a judgement that keeps a newer submission waiting."""
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
        return TextEvent(judged.trouble) if judged.verdict is None else self._tell(judged.verdict)

    def report(self) -> Event | None:
        """The last verdict once more; where the kit could give none, another try and nothing yet."""
        if self._shown is not None and self._shown.verdict is None:
            self._shown = None
            self._judge()
            return None
        if self._told is None:
            return TextEvent(FIRST_IS_COMING)
        return structs.replace(self._told, is_brief=False, is_again=True)

    def verdict(self) -> Verdict | None:
        """Return the verdict that was shown last, if any."""
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
        entry = OverviewLine(self.exercise.id, self.exercise.title, progress)
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

    def _tell(self, verdict: Verdict) -> VerdictEvent:
        is_first = not self._statuses and self._graded is None
        change = None if is_first else compare(self._statuses, self._graded, verdict)
        before = load_progress(self._course, self.exercise.id)
        remember_verdict(self._course, verdict)
        if verdict.outcome is not Result.NOT_GRADABLE:
            self._statuses = {defect.id: defect.status for defect in verdict.defects}
            self._graded = verdict
        at = time.strftime("%H:%M:%S")
        known = frozenset(before.fixed())
        self._told = VerdictEvent(
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
