"""The choice between the engines of a batch."""

from contextlib import AbstractContextManager
from enum import StrEnum

from grader.classroom.cluster_engine import cluster_engine, require_private
from grader.classroom.local_engine import local_engine
from grader.classroom.run import Engine
from grader.errors import UsageError
from grader.processes.examiner_process import usable_cores
from grader.spec.paths import Course


class EngineKind(StrEnum):
    """The kinds of engine."""

    LOCAL = "local"
    DASK = "dask"


def choose_engine(
    course: Course,
    kind: EngineKind,
    scheduler: str | None,
    jobs: int | None,
    *,
    is_strict: bool,
    allows_plain_tcp: bool = False,
) -> AbstractContextManager[Engine]:
    """Return the engine, not yet started.

    Raise `UsageError` if the options contradict each other, or if the scheduler is on another machine and has no TLS.
    """
    if kind is EngineKind.LOCAL:
        if scheduler is not None:
            raise UsageError("--scheduler is for a cluster; add --engine dask")
        return local_engine(course, jobs or usable_cores(), is_strict=is_strict)
    if scheduler is None:
        raise UsageError("--engine dask needs --scheduler tls://HOST:PORT, the address that dask scheduler shows")
    if jobs is not None:
        raise UsageError("--jobs is for this machine; a cluster runs one examiner for each thread of its workers")
    if not allows_plain_tcp:
        require_private([scheduler])
    return cluster_engine(scheduler, is_strict=is_strict, allows_plain_tcp=allows_plain_tcp)
