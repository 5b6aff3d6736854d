"""The exercise that a watch follows: its file, graded in the background, and the verdicts shown so far."""

import threading
import time
from collections.abc import Callable

from msgspec import Struct, structs

from grader.errors import KitError
from grader.processes.examiner_process import CancelledError
from grader.processes.pool import ExaminerPool
from grader.report.console import NOTE_SECONDS
from grader.spec.exercise import Exercise
from grader.spec.paths import Course
from grader.student.claims import withhold
from grader.student.explanations import load_explained
from grader.student.progress import load_progress
from grader.student.recording import record_shown
from grader.student.watch.events import NO_VERDICT_YET, Event, TextEvent, VerdictEvent, compare
from grader.student.watch.inputs import file_stamps, looks_cut_off
from grader.submission import Unreadable
from grader.submission.choice import Choice, choose_file
from grader.verdict.pooled_judge import PooledJudge
from grader.verdict.verdict import Result, Verdict, refuse


class Judgement(Struct, frozen=True, kw_only=True):
    """The verdict on one content of a file; if the kit failed, None with the error message."""

    exercise: str
    content: Choice
    verdict: Verdict | None
    error: str = ""


class BackgroundJudge:
    """Judges in a thread, one content at a time, and reports each judgement. All inputs use one seed."""

    def __init__(self, course: Course, seed: int, report: Callable[[Judgement], None]) -> None:
        self._course = course
        self._seed = seed
        self._report = report
        self._pool = ExaminerPool(most_idle=1)
        self._judge = PooledJudge(self._pool, course)
        self._under_way: str | None = None
        self._started = 0.0

    def start(self, exercise_id: str, content: Choice) -> None:
        """Start to judge the content. `report` is called once, from another thread, unless it is cancelled."""
        self._under_way = content.digest()
        self._started = time.monotonic()
        arguments = (self._judge, exercise_id, content)
        threading.Thread(target=self._run, args=arguments, name="judging", daemon=True).start()

    def finish(self, judgement: Judgement) -> None:
        """Acknowledge a judgement, so that the next one can start. An outdated judgement changes nothing."""
        if judgement.content.digest() == self._under_way:
            self._under_way = None

    def is_free(self) -> bool:
        """Return whether nothing is being judged."""
        return self._under_way is None

    def started(self) -> float | None:
        """Return when the current judgement began, on the monotonic clock; None if there is none."""
        return self._started if self._under_way is not None else None

    def outdated_for(self, content: Choice) -> float:
        """Return for how many seconds a content other than this one has been judged; 0.0 if none is."""
        is_outdated = self._under_way is not None and self._under_way != content.digest()
        return time.monotonic() - self._started if is_outdated else 0.0

    def cancel(self) -> None:
        """Cancel the current judgement."""
        self._judge.cancel()
        self._judge = PooledJudge(self._pool, self._course)
        self._under_way = None

    def close(self) -> None:
        """Cancel the current judgement and end the examiner."""
        self._judge.cancel()
        self._pool.close()

    def refuse(self, exercise: Exercise, content: Choice) -> Judgement | None:
        """Return the judgement on a file that is not gradable; None if an examiner is needed to know that.

        A judgement that is under way continues.
        """
        verdict = refuse(exercise, content.read, self._course.shown(content.path), self._seed)
        return None if verdict is None else Judgement(exercise=exercise.id, content=content, verdict=verdict)

    def _run(self, judge: PooledJudge, exercise_id: str, content: Choice) -> None:
        name = self._course.shown(content.path)
        try:
            verdict = judge.judge(exercise_id, content.read, name, self._seed)
            judgement = Judgement(exercise=exercise_id, content=content, verdict=verdict)
        except CancelledError:
            return
        except Exception as error:  # noqa: BLE001 - the student sees any error; the next save tries again
            message = str(error) if isinstance(error, KitError) else f"unexpected {type(error).__name__}: {error}"
            judgement = Judgement(exercise=exercise_id, content=content, verdict=None, error=message)
        self._report(judgement)


QUIET_SECONDS = 0.03
"""How long a file must be unchanged before its verdict is shown. It is judged meanwhile."""

LONG_QUIET_SECONDS = 0.4
"""`QUIET_SECONDS` for a file that is not gradable or looks incomplete: it may still be being written."""

CANCEL_SECONDS = 2.0
"""A judgement is cancelled if a newer submission has waited this long: longer than a new examiner takes to start."""


class FollowedExercise:
    """Judges each new content of an exercise's file. Returns an event once the file has been unchanged for a while."""

    def __init__(self, course: Course, exercise: Exercise, judging: BackgroundJudge, *, is_brief: bool) -> None:
        self.exercise = exercise
        self._stamps = file_stamps(course, exercise.id)
        self.content = choose_file(course, exercise.id)
        self._course = course
        self._judging = judging
        self._is_brief = is_brief
        self._saved = 0.0
        self._judged: Judgement | None = None
        self._shown: Judgement | None = None
        self._last_event: VerdictEvent | None = None
        self._graded: Verdict | None = None
        self._slow: float | None = None
        self._statuses = load_progress(course, exercise.id).statuses
        self._judge()

    def has_changed(self) -> bool:
        """Return whether the files changed since they were read."""
        return file_stamps(self._course, self.exercise.id) != self._stamps

    def read_files(self) -> None:
        """Read the files, and judge their content if it is new."""
        self._saved = time.monotonic()
        self._stamps = file_stamps(self._course, self.exercise.id)
        content = choose_file(self._course, self.exercise.id)
        if content.digest() != self.content.digest():
            self.content, self._judged = content, None
            self._judge()

    def receive(self, judgement: Judgement) -> None:
        """Keep the judgement if it is on the current content; otherwise judge the current content."""
        self._judging.finish(judgement)
        is_current = judgement.exercise == self.exercise.id and judgement.content.digest() == self.content.digest()
        if is_current and not self._is_shown():
            self._judged = judgement
        self._judge()

    def cancel_slow(self) -> None:
        """Cancel a judgement that keeps a newer submission waiting."""
        if self._judging.outdated_for(self.content) > CANCEL_SECONDS:
            self._judging.cancel()
            self._judge()

    def seconds_to_wait(self, at_most: float) -> float:
        """Return after how many seconds to ask for `next_event` again, if no message arrives before."""
        if self._judged is None:
            return min(at_most, NOTE_SECONDS / 2)
        return min(at_most, max(self._saved + self._quiet_seconds(self._judged) - time.monotonic(), 0.0))

    def next_event(self) -> Event | None:
        """Return the event for a new judgement and store its verdict. Return None until the file has been unchanged."""
        judged = self._judged
        if judged is None or self.seconds_to_wait(1.0) > 0:
            return None
        if self.has_changed():
            self.read_files()
            return None
        self._judged, self._shown = None, judged
        return TextEvent(text=judged.error) if judged.verdict is None else self._verdict_event(judged.verdict)

    def repeat(self) -> Event | None:
        """Return the last verdict again. If the kit failed and gave no verdict, judge again and return None."""
        if self._shown is not None and self._shown.verdict is None:
            self._shown = None
            self._judge()
            return None
        if self._last_event is None:
            return TextEvent(text=NO_VERDICT_YET)
        return structs.replace(self._last_event, is_brief=False, is_repeated=True)

    def verdict(self) -> Verdict | None:
        """Return the verdict that was shown last, if any."""
        return self._last_event.verdict if self._last_event else None

    def is_slow(self) -> bool:
        """Return whether a judgement has taken longer than `NOTE_SECONDS`; true only once for each judgement."""
        started = self._judging.started()
        if started is None or started == self._slow or time.monotonic() - started < NOTE_SECONDS:
            return False
        self._slow = started
        return True

    def is_done(self) -> bool:
        """Return whether the exercise is fixed, now or in the stored progress."""
        is_fixed = self._graded is not None and self._graded.outcome is Result.FIXED
        return is_fixed or load_progress(self._course, self.exercise.id).outcome is Result.FIXED

    def _judge(self) -> None:
        """Judge the current content, unless it is judged already or another judgement is under way.

        `receive` calls this again when the other judgement ends.
        """
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
        """Return how long the file must be unchanged before this judgement may be shown."""
        is_graded = judged.verdict is not None and judged.verdict.outcome is not Result.NOT_GRADABLE
        is_cut_off = self._shown is not None and looks_cut_off(self._shown.content, judged.content)
        return QUIET_SECONDS if is_graded and not is_cut_off else LONG_QUIET_SECONDS

    def _verdict_event(self, verdict: Verdict) -> VerdictEvent:
        """Store the verdict and return its event."""
        verdict = withhold(self._course, self.exercise, verdict)
        is_first = not self._statuses and self._graded is None
        change = None if is_first else compare(self._statuses, self._graded, verdict)
        before = load_progress(self._course, self.exercise.id)
        record_shown(self._course, self.content.read, verdict)
        if verdict.outcome is not Result.NOT_GRADABLE:
            self._statuses = {defect.id: defect.status for defect in verdict.defects}
            self._graded = verdict
        at = time.strftime("%H:%M:%S")
        self._last_event = VerdictEvent(
            exercise=load_explained(self._course, self.exercise.id, self.content.read, verdict, spawn=True),
            verdict=verdict,
            change=change,
            remark=self.content.remark,
            at=at,
            is_brief=self._is_brief,
            progress=before,
        )
        self._is_brief = False
        return self._last_event
