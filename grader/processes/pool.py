"""Pool of examiner processes, kept warm between submissions: lent, cancelled, restarted when an exercise changes.

Beside it the pool of processes that an author's tasks run in, each with a source of workers of its own.
"""

import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from grader.errors import KitError
from grader.processes.examiner_process import CancelledError, ExaminerProcess
from grader.processes.worker_source import open_worker_source
from grader.spec.loading import load_exercise
from grader.spec.paths import Course
from grader.submission import Submission, Unreadable
from grader.verdict.verdict import Verdict, refuse


class ExaminerPool:
    """Lends examiner processes to one thread each; of those given back, at most `most_idle` wait for the next."""

    def __init__(self, most_idle: int | None = None) -> None:
        self._most_idle = most_idle
        self._lock = threading.Lock()
        self._idle: list[tuple[Path, bool, ExaminerProcess]] = []
        self._lent: set[ExaminerProcess] = set()
        self._inherited: list[ExaminerProcess] = []
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._abandon)

    @contextlib.contextmanager
    def lend(self, course: Course, *, strict: bool, exercise_id: str = "") -> Iterator[ExaminerProcess]:
        """An examiner process for the caller alone; one that has opened the exercise where one waits."""
        with self._lock:
            fitting = [each for each in self._idle if each[:2] == (course.root, strict)]
            found = max(fitting, key=lambda each: each[2].has_opened(exercise_id), default=None)
            if found:
                self._idle.remove(found)
            examiner = found[2] if found else ExaminerProcess(course, strict=strict)
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
        """End every examiner process, at once where it is at work; the pool may be used again."""
        with self._lock:
            idle, self._idle = self._idle, []
            lent = list(self._lent)
        for examiner in lent:
            examiner.cancel()
        for _, _, examiner in idle:
            examiner.close()

    def _take_back(self, course: Course, examiner: ExaminerProcess, *, strict: bool, is_fit: bool) -> None:
        """Let it wait for the next submission, in the place of the one that has waited longest."""
        with self._lock:
            self._lent.discard(examiner)
            is_fit = is_fit and not examiner.is_cancelled
            surplus = [] if is_fit else [examiner]
            if is_fit:
                self._idle.insert(0, (course.root, strict, examiner))
            if self._most_idle is not None:
                surplus += [each[2] for each in self._idle[self._most_idle :]]
                del self._idle[self._most_idle :]
        for each in surplus:
            each.cancel()
            each.close()

    def _abandon(self) -> None:
        """In a forked child: start anew; the parent's threads and locks are not here."""
        inherited = [*self._lent, *(each[2] for each in self._idle)]
        for examiner in inherited:
            examiner.abandon()
        self._inherited += inherited  # never collected: a pipe's lock may be held by a thread that is not here
        self._lock, self._idle, self._lent = threading.Lock(), [], set()


class PoolClient:
    """Judges submissions to one course by a pool's examiners, for any number of threads; may be cancelled, for good."""

    def __init__(self, pool: ExaminerPool, course: Course, *, strict: bool = False) -> None:
        self._pool = pool
        self._course = course
        self._strict = strict
        self._at_work: set[ExaminerProcess] = set()
        self._is_cancelled = False

    def judge(self, exercise_id: str, read: Submission | Unreadable, file: str, seed: int) -> Verdict:
        """The verdict on what was read; `file` is what it calls it. What cannot be judged needs no examiner.

        Raises what `ExaminerProcess.judge` does.
        """
        exercise = load_exercise(self._course.description(exercise_id))
        refused = refuse(exercise, read, file, seed)
        if refused is not None:
            return refused
        assert isinstance(read, Submission)
        with self._lend(exercise_id) as examiner:
            return examiner.judge(exercise_id, read, file, seed)

    def fingerprint(self, submission: Submission) -> str:
        """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
        with self._lend() as examiner:
            return examiner.fingerprint(submission)

    def cancel(self) -> None:
        """End the examiners that are at work for this client, and refuse it any more; from any thread."""
        self._is_cancelled = True
        for examiner in list(self._at_work):
            examiner.cancel()

    @contextlib.contextmanager
    def _lend(self, exercise_id: str = "") -> Iterator[ExaminerProcess]:
        with self._pool.lend(self._course, strict=self._strict, exercise_id=exercise_id) as examiner:
            self._at_work.add(examiner)
            if self._is_cancelled:
                examiner.cancel()
            try:
                yield examiner
            finally:
                self._at_work.discard(examiner)


T = TypeVar("T")

_sources: list[Any] = []
"""Where this process's workers come from: one entry, once `_prepare` has run."""


class TaskPool:
    """Runs functions whose first argument is a source of workers."""

    def __init__(self, processes: int) -> None:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        self._executor = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_prepare)

    def submit(self, task: Callable[..., T], *arguments: Any) -> Future[T]:
        """The task's result, some time."""
        return self._executor.submit(_with_source, task, *arguments)

    def close(self) -> None:
        """Drop what has not been started, and end the processes."""
        self._executor.shutdown(cancel_futures=True)


def _prepare() -> None:
    _sources.append(open_worker_source())


def _with_source(task: Callable[..., T], *arguments: Any) -> T:
    return task(_sources[0], *arguments)
