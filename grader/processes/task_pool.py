"""Processes that run an author's tasks, each with its own source of workers."""

from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

from grader.processes.worker_source import open_worker_source
from grader.processes.workers import WorkerSource
from grader.sandbox.sandbox import die_with_parent

T = TypeVar("T")

_sources: list[WorkerSource] = []
"""This process's source of workers: one entry after `_prepare` has run."""


class TaskPool:
    """Runs functions whose first argument is a source of workers."""

    def __init__(self, processes: int) -> None:
        self._executor = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_prepare)

    def submit(self, task: Callable[..., T], *arguments: Any) -> Future[T]:
        """Schedule a task; return the future of its result."""
        return self._executor.submit(_with_source, task, *arguments)

    def close(self) -> None:
        """Cancel the tasks that have not started, and end the processes."""
        self._executor.shutdown(cancel_futures=True)


def _prepare() -> None:
    die_with_parent()
    _sources.append(open_worker_source(for_many=True))


def _with_source(task: Callable[..., T], *arguments: Any) -> T:
    return task(_sources[0], *arguments)
