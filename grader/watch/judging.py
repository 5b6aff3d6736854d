"""One submission after another judged in the background."""

import threading
import time
from collections.abc import Callable

from msgspec import Struct

from grader.course.paths import Course
from grader.course.records import Exercise
from grader.errors import KitError
from grader.service.examiner_process import CancelledError
from grader.service.pool import ExaminerPool, PoolClient
from grader.submission.choice import Choice
from grader.verdict.verdict import Verdict, refuse


class Judgement(Struct, frozen=True):
    """What has come of some content: a verdict, or in words why the kit could not give one."""

    exercise: str
    content: Choice
    verdict: Verdict | None
    trouble: str = ""


class Judging:
    """Judges in a thread, one content at a time, and tells what came of it. All inputs are drawn from one seed."""

    def __init__(self, course: Course, seed: int, tell: Callable[[Judgement], None]) -> None:
        self._course = course
        self._seed = seed
        self._tell = tell
        self._pool = ExaminerPool(most_idle=1)
        self._client = PoolClient(self._pool, course)
        self._under_way: str | None = None
        self._started = 0.0

    def start(self, exercise_id: str, content: Choice) -> None:
        """Judge the content; `tell` is called from another thread, once."""
        self._under_way = content.digest()
        self._started = time.monotonic()
        arguments = (self._client, exercise_id, content)
        threading.Thread(target=self._run, args=arguments, name="judging", daemon=True).start()

    def finish(self, judgement: Judgement) -> None:
        """What was told has been heard: another may start, unless one has that this one came too late for."""
        if judgement.content.digest() == self._under_way:
            self._under_way = None

    def is_free(self) -> bool:
        return self._under_way is None

    def started(self) -> float | None:
        """When what is under way was begun, by the monotonic clock; None where nothing is."""
        return self._started if self._under_way is not None else None

    def outdated_for(self, content: Choice) -> float:
        """Seconds for which something other than the content has been under way; 0.0 where nothing is."""
        is_outdated = self._under_way is not None and self._under_way != content.digest()
        return time.monotonic() - self._started if is_outdated else 0.0

    def cancel(self) -> None:
        """Give up what is under way."""
        self._client.cancel()
        self._client = PoolClient(self._pool, self._course)
        self._under_way = None

    def close(self) -> None:
        """End the examiner, at once where it is at work."""
        self._client.cancel()
        self._pool.close()

    def refuse(self, exercise: Exercise, content: Choice) -> Judgement | None:
        """The judgement on what needs no examiner, while whatever is under way goes on; None for what does."""
        verdict = refuse(exercise, content.read, self._course.shown(content.path), self._seed)
        return None if verdict is None else Judgement(exercise.id, content, verdict)

    def _run(self, client: PoolClient, exercise_id: str, content: Choice) -> None:
        name = self._course.shown(content.path)
        try:
            self._tell(Judgement(exercise_id, content, client.judge(exercise_id, content.read, name, self._seed)))
        except CancelledError:
            return
        except Exception as error:  # noqa: BLE001 - a thread must not end without a word; the next save tries again
            told = str(error) if isinstance(error, KitError) else f"unexpected {type(error).__name__}: {error}"
            self._tell(Judgement(exercise_id, content, None, told))
