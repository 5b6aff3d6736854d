"""The engine on this machine: a few threads, each with an examiner's process of its own."""

import contextlib
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
