"""The engine on this machine: a few threads, each with an examiner's process of its own."""

import contextlib
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from grader.batch.run import Engine
from grader.batch.work import Place, close_examiners, kill_examiners
from grader.course import Course


@contextlib.contextmanager
def local_engine(course: Course, jobs: int, *, is_strict: bool) -> Iterator[Engine]:
    """An engine of `jobs` examiners, which are ended with it, whatever they are judging."""
    executor = ThreadPoolExecutor(jobs, "examiner", _leave_interrupts_to_the_batch)
    try:
        yield Engine(executor, jobs, Place(str(course.root), is_strict))
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        kill_examiners()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        close_examiners()


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _leave_interrupts_to_the_batch() -> None:
    """Ctrl-C reaches all processes of a terminal; examiners inherit from this thread that it is not for them."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
