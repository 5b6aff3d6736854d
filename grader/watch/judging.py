"""One submission after another judged in the background."""

import threading
import time
from collections.abc import Callable

from msgspec import Struct

from grader.course.loading import load_exercise
from grader.course.paths import Course
from grader.errors import KitError
from grader.examiner.outcome import Finding
from grader.service.pool import CancelledError, PooledExaminer
from grader.submission import Submission
from grader.verdict.verdict import Verdict, not_gradable
from grader.watch.content import Content


class Judgement(Struct, frozen=True):
    """What has come of some content: a verdict, or in words why the kit could not give one."""

    exercise: str
    content: Content
    verdict: Verdict | None
    trouble: str = ""


class Judging:
    """Judges in a thread, one content at a time, and tells what came of it. All inputs are drawn from one seed."""

    def __init__(self, course: Course, seed: int, tell: Callable[[Judgement], None]) -> None:
        self._course = course
        self._seed = seed
        self._tell = tell
        self._examiner = PooledExaminer(course)
        self._under_way: str | None = None
        self._started = 0.0

    def start(self, exercise_id: str, content: Content) -> None:
        """Judge the content; `tell` is called from another thread, once."""
        self._under_way = content.digest()
        self._started = time.monotonic()
        arguments = (self._examiner, exercise_id, content)
        threading.Thread(target=self._run, args=arguments, name="judging", daemon=True).start()

    def finish(self, judgement: Judgement) -> None:
        """What was told has been heard: another may start, unless one has that this one came too late for."""
        if judgement.content.digest() == self._under_way:
            self._under_way = None

    def is_free(self) -> bool:
        return self._under_way is None

    def outdated_for(self, content: Content) -> float:
        """Seconds for which something other than the content has been under way; 0.0 where nothing is."""
        is_outdated = self._under_way is not None and self._under_way != content.digest()
        return time.monotonic() - self._started if is_outdated else 0.0

    def cancel(self) -> None:
        """Give up what is under way."""
        self._examiner.cancel()
        self._examiner = PooledExaminer(self._course)
        self._under_way = None

    def close(self) -> None:
        """End the examiner, at once where it is at work."""
        self._examiner.cancel()
        if self.is_free():
            self._examiner.close()

    def judge_unreadable(self, exercise_id: str, content: Content, reason: str) -> Judgement:
        """The judgement on a file without source; no examiner is needed."""
        try:
            exercise = load_exercise(self._course.description(exercise_id))
        except KitError as error:
            return Judgement(exercise_id, content, None, str(error))
        finding = Finding("unreadable", reason)
        return Judgement(exercise_id, content, not_gradable(exercise, self._name(content), self._seed, finding))

    def _run(self, examiner: PooledExaminer, exercise_id: str, content: Content) -> None:
        assert isinstance(content.read, Submission)
        try:
            verdict = examiner.judge(exercise_id, content.read, self._name(content), self._seed)
            self._tell(Judgement(exercise_id, content, verdict))
        except CancelledError:
            examiner.close()
        except Exception as error:  # noqa: BLE001 - a thread must not end without a word; the next save tries again
            told = str(error) if isinstance(error, KitError) else f"unexpected {type(error).__name__}: {error}"
            self._tell(Judgement(exercise_id, content, None, told))

    def _name(self, content: Content) -> str:
        path, root = content.path, self._course.root
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
