"""Processes that run an author's tasks, each process with a source of workers of its own."""

from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

from grader.processes.worker_source import open_worker_source
from grader.processes.workers import WorkerSource

T = TypeVar("T")

_sources: list[WorkerSource] = []
"""Where this process's workers come from: one entry, once `_prepare` has run."""


class TaskPool:
    """Runs functions whose first argument is a source of workers."""

    def __init__(self, processes: int) -> None:
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
