"""The engine of a batch on this machine: threads with an examiner process each."""

import contextlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

from msgspec import Struct

from grader.classroom import tasks
from grader.classroom.run import Engine
from grader.classroom.tasks import CourseLocation, cancel_examiners, close_examiners
from grader.classroom.work import Task, TaskResult
from grader.spec.paths import Course


@contextlib.contextmanager
def local_engine(course: Course, jobs: int, *, is_strict: bool) -> Iterator[Engine]:
    """Open an engine of `jobs` examiners on this machine. On exit, end them even if they are judging."""
    engine = _LocalEngine(CourseLocation(root=str(course.root), is_strict=is_strict), jobs)
    try:
        yield engine
    except BaseException:
        engine.shutdown(wait=False)
        cancel_examiners()
        raise
    finally:
        engine.shutdown(wait=True)
        close_examiners()


class _PendingTask(Struct, frozen=True, kw_only=True, eq=False):
    """A task that waits for a thread, and the future of its result."""

    task: Task
    future: Future[TaskResult]

    def exercise(self) -> str:
        """Return the id of the task's exercise."""
        return self.task.record.exercise


class _LocalEngine:
    """Threads with one examiner each. A thread prefers an exercise that it has opened, and then an exercise that no
    thread has opened.

    Opening an exercise takes as long as judging a submission. A thread that would be idle takes the first task.
    """

    def __init__(self, location: CourseLocation, jobs: int) -> None:
        self.width, self.is_strict, self.memory_bytes = jobs, location.is_strict, machine_memory()
        self._location = location
        self._pending: list[_PendingTask] = []
        self._change = threading.Condition()
        self._is_over = False
        self._opened: list[set[str]] = [set() for _ in range(jobs)]
        self._threads = [threading.Thread(target=self._run, args=(opened,)) for opened in self._opened]
        for thread in self._threads:
            thread.start()

    def judge(self, task: Task) -> Future[TaskResult]:
        """Queue a task for the next thread that suits its exercise."""
        pending = _PendingTask(task=task, future=Future())
        with self._change:
            self._pending.append(pending)
            self._change.notify()
        return pending.future

    def shutdown(self, *, wait: bool) -> None:
        """Cancel the queued tasks and end the threads. With `wait`, return once the threads have ended."""
        with self._change:
            self._is_over = True
            for each in self._pending:
                each.future.cancel()
            self._change.notify_all()
        for thread in self._threads if wait else ():
            thread.join()

    def _run(self, opened: set[str]) -> None:
        while (pending := self._next(opened)) is not None:
            if pending.future.set_running_or_notify_cancel():
                try:
                    pending.future.set_result(tasks.judge(self._location, pending.task))
                except BaseException as error:  # noqa: BLE001 - the future raises it again
                    pending.future.set_exception(error)

    def _next(self, opened: set[str]) -> _PendingTask | None:
        """Wait for a task and return it; None once the engine is shut down and no task is left."""
        with self._change:
            self._change.wait_for(lambda: self._pending or self._is_over)
            if not self._pending:
                return None
            opened_anywhere = set().union(*self._opened)
            preferences = (opened.__contains__, lambda exercise: exercise not in opened_anywhere, lambda _: True)
            chosen = next(each for fits in preferences for each in self._pending if fits(each.exercise()))
            self._pending.remove(chosen)
            opened.add(chosen.exercise())
            return chosen


CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_memory() -> int:
    """Return how many bytes of memory all processes here may use together, or 0 if that is unknown."""
    try:
        limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, ValueError, OSError):
        limits = []
    for path in CGROUP_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int(Path(path).read_text(encoding="ascii")))
    return max(0, min(limits, default=0))
