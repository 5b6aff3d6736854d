"""The trap of the exercise that a watch follows: judged in the background after each save."""

import threading
import time
from collections.abc import Callable

from msgspec import Struct, structs

from grader.errors import KitError
from grader.processes.examiner_process import CancelledError, usable_cores
from grader.processes.pool import ExaminerPool
from grader.spec.paths import Course
from grader.student.traps import home_of
from grader.submission import read_submission
from grader.trap.pooled_judge import PooledTrapJudge
from grader.trap.reading import is_unwritten, trap_of
from grader.trap.result import TrapResult


class TrapJudgement(Struct, frozen=True, kw_only=True):
    """The result of a trap, or the error that kept the kit from judging it; neither for a trap without tests."""

    exercise: str
    at: str
    file: str
    result: TrapResult | None = None
    error: str = ""


class FollowedTrap:
    """Judges the exercise's trap after each save, but not the trap that exists when the watch begins."""

    def __init__(self, course: Course, exercise_id: str, seed: int, report: Callable[[TrapJudgement], None]) -> None:
        self._course, self._exercise_id, self._seed, self._report = course, exercise_id, seed, report
        self._pool = ExaminerPool(most_idle=1)
        self._judge = PooledTrapJudge(self._pool, course, lanes=usable_cores())
        self._lock = threading.Lock()
        self._is_running = False
        self._content = self._read()

    def read_file(self) -> None:
        """Read the trap, and judge it if it has changed, once the trap before it is judged."""
        with self._lock:
            content = self._read()
            if content == self._content or content is None or self._is_running:
                return
            self._content, self._is_running = content, True
        threading.Thread(target=self._run, name="trap", daemon=True).start()

    def close(self) -> None:
        """Cancel the current judgement and end the processes."""
        self._judge.cancel()
        self._pool.close()

    def _read(self) -> bytes | None:
        try:
            return self._course.trap(self._exercise_id).read_bytes()
        except OSError:
            return None

    def _run(self) -> None:
        path = self._course.trap(self._exercise_id)
        judgement = TrapJudgement(exercise=self._exercise_id, at=time.strftime("%H:%M:%S"), file=path.name)
        try:
            read = read_submission(path, path.name)
            if not is_unwritten(read):
                trap = trap_of(read, path.name)
                home = home_of(self._course, self._exercise_id)
                result = self._judge.judge(self._exercise_id, trap, self._seed, home=home)
                judgement = structs.replace(judgement, result=result)
        except CancelledError:
            return
        except Exception as error:  # noqa: BLE001 - the student sees any error; the next save tries again
            text = str(error) if isinstance(error, KitError) else f"unexpected {type(error).__name__}: {error}"
            judgement = structs.replace(judgement, error=text)
        with self._lock:
            self._is_running = False
        self._report(judgement)
