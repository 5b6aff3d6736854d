"""The engine on this machine: a few threads, each with an examiner's process of its own."""

import contextlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from grader.batch.run import Engine
from grader.batch.work import Place, close_examiners, let_examiners_go
from grader.course import Course


@contextlib.contextmanager
def local_engine(course: Course, jobs: int, *, is_strict: bool) -> Iterator[Engine]:
    """An engine of `jobs` examiners, which are ended with it, whatever they are judging."""
    executor = ThreadPoolExecutor(jobs, "examiner")
    try:
        yield Engine(executor, jobs, Place(str(course.root), is_strict))
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        let_examiners_go()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        close_examiners()


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
