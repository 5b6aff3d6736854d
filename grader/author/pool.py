"""Processes that examine side by side, each with a nursery of its own, forked before any check is opened."""

from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

from grader.examiner.torch_import import assert_single_thread, import_torch
from grader.grading import CAN_FORK

T = TypeVar("T")

_sources: list[Any] = []
"""Where this process's workers come from: one entry, once `_prepare` has run."""


class Pool:
    """Runs functions whose first argument is a source of workers."""

    def __init__(self, processes: int) -> None:
        self._executor = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_prepare)

    def submit(self, task: Callable[..., T], *arguments: Any) -> "Future[T]":
        """The task's result, some time."""
        return self._executor.submit(_with_source, task, *arguments)

    def close(self) -> None:
        """Drop what has not been started, and end the processes."""
        self._executor.shutdown(cancel_futures=True)


def _prepare() -> None:
    import_torch()
    from grader.examiner.spawner import Spawner
    from grader.examiner.workers import Nursery

    if CAN_FORK:
        assert_single_thread()
    _sources.append(Nursery() if CAN_FORK else Spawner())


def _with_source(task: Callable[..., T], *arguments: Any) -> T:
    return task(_sources[0], *arguments)
