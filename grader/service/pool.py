"""Pool of examiner processes: lent to one thread at a time, cancelled from any, restarted when an exercise changes."""

import atexit
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.course.paths import Course
from grader.errors import KitError
from grader.service.process import Answer, ExaminerProcess
from grader.submission import Submission
from grader.verdict.verdict import Verdict


class CancelledError(KitError):
    """Nobody waits for the verdict any more."""


class ExaminerDiedError(KitError):
    """The examiner died of one submission twice; others can be judged."""


class PooledExaminer(ExaminerProcess):
    """An examiner process that another thread may cancel, and that is restarted when its exercise has changed."""

    def __init__(self, course: Course, *, strict: bool = False) -> None:
        super().__init__(course, strict=strict)
        self._versions: dict[str, tuple[tuple[str, int, int], ...]] = {}
        self._is_cancelled = False
        self._deaths = 0
        self._forgotten: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process, deaf to Ctrl-C: that is for whoever asked, who then closes it or lets it go."""
        with _interrupts_blocked():
            super().start()
        if self._is_cancelled:
            self.cancel()

    def judge(self, exercise_id: str, submission: Submission, file: str, seed: int) -> Verdict:
        """The verdict, as `ExaminerProcess` gives it; `ExaminerDiedError` or `CancelledError` where there is none."""
        version = self._course.stamps(exercise_id)
        if self._versions.get(exercise_id, version) != version:
            self.close()
        self._versions[exercise_id] = version
        self._deaths = 0
        try:
            return super().judge(exercise_id, submission, file, seed)
        except KitError as error:
            if self._is_cancelled:
                raise CancelledError(f"{file} was let go of") from error
            raise ExaminerDiedError(str(error)) if self._deaths > 1 else error from None

    def close(self) -> None:
        """End the process; what it knew of the exercises goes with it."""
        super().close()
        self._versions = {}

    def cancel(self) -> None:
        """End the process at once and for good, whatever it is at; from any thread."""
        self._is_cancelled = True
        process = self._process
        if process is not None:
            process.kill()

    def forget(self) -> None:
        """In a forked child: the process is the parent's, so let go of its pipes without a word to it."""
        process, self._process = self._process, None
        self._forgotten = process
        if process is not None:
            null = os.open(os.devnull, os.O_RDWR)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None and not pipe.closed:
                    os.dup2(null, pipe.fileno(), inheritable=False)
            os.close(null)
            process.returncode = 0  # collected by the parent

    def _ask(self, task: Any, seconds: float) -> Answer | None:
        answer = None if self._is_cancelled else super()._ask(task, seconds)
        self._deaths += answer is None
        return answer


class ExaminerPool:
    """Lends kept examiners; `spare` of those given back stand ready for the next."""

    def __init__(self, spare: int) -> None:
        self._spare = spare
        self._lock = threading.Lock()
        self._ready: list[tuple[Path, bool, PooledExaminer]] = []
        self._lent: set[PooledExaminer] = set()
        self._forgotten: list[PooledExaminer] = []
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    @contextlib.contextmanager
    def lend(self, course: Course, *, strict: bool) -> Iterator[PooledExaminer]:
        """An examiner for the caller alone."""
        with self._lock:
            found = next((each for each in self._ready if each[:2] == (course.root, strict)), None)
            if found:
                self._ready.remove(found)
            examiner = found[2] if found else PooledExaminer(course, strict=strict)
            self._lent.add(examiner)
        is_fit = False
        try:
            yield examiner
            is_fit = True
        except CancelledError:
            raise
        except KitError:
            is_fit = True
            raise
        finally:
            self._take_back(course, examiner, strict=strict, is_fit=is_fit)

    def close(self) -> None:
        """End every examiner; those at work are let go."""
        with self._lock:
            ready, self._ready = self._ready, []
            lent = list(self._lent)
        for examiner in lent:
            examiner.cancel()
        for _, _, examiner in ready:
            examiner.close()

    def _take_back(self, course: Course, examiner: PooledExaminer, *, strict: bool, is_fit: bool) -> None:
        """Keep it ready in the place of the one that has waited longest."""
        with self._lock:
            self._lent.discard(examiner)
            surplus = [] if is_fit else [examiner]
            if is_fit:
                self._ready.insert(0, (course.root, strict, examiner))
                surplus = [each[2] for each in self._ready[self._spare :]]
                del self._ready[self._spare :]
        for each in surplus:
            each.cancel()
            each.close()

    def _forget(self) -> None:
        """In a forked child: start anew; the parent's threads and locks are not here."""
        inherited = [*self._lent, *(each[2] for each in self._ready)]
        for examiner in inherited:
            examiner.forget()
        self._forgotten += inherited  # never collected: a pipe's lock may be held by a thread that is not here
        self._lock, self._ready, self._lent = threading.Lock(), [], set()


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """A process started meanwhile does not get SIGINT, now or later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
