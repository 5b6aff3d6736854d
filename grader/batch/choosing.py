"""Which engine a batch runs on."""

import contextlib
from enum import StrEnum

from grader.batch.local import local_engine
from grader.batch.run import Engine
from grader.course import Course
from grader.errors import UsageError
from grader.standing import usable_cores


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
    from grader.batch.cluster import cluster_engine

    return cluster_engine(course, scheduler, is_strict=is_strict)
