"""Which engine a batch runs on."""

import contextlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path

from grader.batch.run import Engine
from grader.batch.work import Place, cancel_examiners, close_examiners
from grader.course.paths import Course
from grader.errors import UsageError
from grader.service.examiner_process import usable_cores


@contextlib.contextmanager
def local_engine(course: Course, jobs: int, *, is_strict: bool) -> Iterator[Engine]:
    """An engine of `jobs` examiners, which are ended with it, whatever they are judging."""
    executor = ThreadPoolExecutor(jobs, "examiner")
    try:
        yield Engine(executor, jobs, Place(str(course.root), is_strict), machine_memory())
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        cancel_examiners()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        close_examiners()


CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_memory() -> int:
    """Bytes of memory that processes here may use together; 0 where it cannot be told."""
    try:
        limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, ValueError, OSError):
        limits = []
    for path in CGROUP_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int(Path(path).read_text(encoding="ascii")))
    return max(0, min(limits, default=0))


class EngineKind(StrEnum):
    """The engines there are."""

    LOCAL = "local"
    DASK = "dask"


def choose_engine(
    course: Course, kind: EngineKind, scheduler: str | None, jobs: int | None, *, is_strict: bool
) -> contextlib.AbstractContextManager[Engine]:
    """The engine, not yet started; `UsageError` where its options contradict each other."""
    if kind is EngineKind.LOCAL:
        if scheduler is not None:
            raise UsageError("--scheduler is for a cluster; add --engine dask")
        return local_engine(course, jobs or usable_cores(), is_strict=is_strict)
    if scheduler is None:
        raise UsageError("--engine dask needs --scheduler tcp://HOST:PORT, the address that dask scheduler shows")
    if jobs is not None:
        raise UsageError("--jobs is for this machine; on a cluster an examiner works on each thread of its workers")
    from grader.batch.dask_engine import cluster_engine

    return cluster_engine(course, scheduler, is_strict=is_strict)
