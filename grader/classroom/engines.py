"""The engines of a batch: threads with an examiner process each, or a Dask cluster, to which no code is sent."""

import contextlib
import ipaddress
import itertools
import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from grader.classroom import tasks
from grader.classroom.gradebook import Versions, WorkKind
from grader.classroom.run import Engine
from grader.classroom.tasks import (
    CourseLocation,
    Task,
    TaskResult,
    cancel_examiners,
    close_examiners,
    versions,
    versions_for_traps,
)
from grader.errors import KitError, UsageError, require_package
from grader.processes.examiner_process import usable_cores
from grader.spec.paths import Course, find_course


@contextlib.contextmanager
def local_engine(course: Course, jobs: int, *, is_strict: bool) -> Iterator[Engine]:
    """Open an engine of `jobs` examiners on this machine. On exit, end them even if they are judging."""
    executor = _ExerciseExecutor(jobs)
    try:
        location = CourseLocation(root=str(course.root), is_strict=is_strict)
        yield Engine(executor=executor, width=jobs, location=location, memory_bytes=machine_memory())
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        cancel_examiners()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        close_examiners()


class _PendingCall(Struct, frozen=True, kw_only=True, eq=False):
    """A submitted call; `exercise` is empty if the call needs no exercise."""

    exercise: str
    future: "Future[Any]"
    call: Callable[[], Any]


class _ExerciseExecutor(Executor):
    """Threads with one examiner each. A thread prefers an exercise that it has opened, and then an exercise that no
    thread has opened.

    Opening an exercise takes as long as judging a submission. A thread that would be idle takes the first call.
    """

    def __init__(self, jobs: int) -> None:
        self._pending: list[_PendingCall] = []
        self._change = threading.Condition()
        self._is_over = False
        self._opened: list[set[str]] = [{""} for _ in range(jobs)]
        self._threads = [threading.Thread(target=self._run, args=(opened,)) for opened in self._opened]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Queue a call for the next thread that suits its exercise."""
        names = [each.record.exercise if isinstance(each, Task) else each for each in args]
        exercise = next((name for name in names if isinstance(name, str)), "")
        pending = _PendingCall(exercise=exercise, future=Future(), call=partial(fn, *args, **kwargs))
        with self._change:
            self._pending.append(pending)
            self._change.notify()
        return pending.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads after the queued calls, or cancel these calls. With `wait`, return once the threads have
        ended.
        """
        with self._change:
            self._is_over = True
            for each in self._pending if cancel_futures else ():
                each.future.cancel()
            self._change.notify_all()
        for thread in self._threads if wait else ():
            thread.join()

    def _run(self, opened: set[str]) -> None:
        while (pending := self._next(opened)) is not None:
            if pending.future.set_running_or_notify_cancel():
                try:
                    pending.future.set_result(pending.call())
                except BaseException as error:  # noqa: BLE001 - the future raises it again
                    pending.future.set_exception(error)

    def _next(self, opened: set[str]) -> _PendingCall | None:
        """Wait for a call and return it; None once the executor is shut down and no call is left."""
        with self._change:
            self._change.wait_for(lambda: self._pending or self._is_over)
            if not self._pending:
                return None
            opened_anywhere = set().union(*self._opened)
            preferences = (opened.__contains__, lambda exercise: exercise not in opened_anywhere, lambda _: True)
            chosen = next(each for fits in preferences for each in self._pending if fits(each.exercise))
            self._pending.remove(chosen)
            opened.add(chosen.exercise)
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
) -> contextlib.AbstractContextManager[Engine]:
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
        _require_private([scheduler])
    return _cluster_engine(course, scheduler, is_strict=is_strict, allows_plain_tcp=allows_plain_tcp)


def _require_private(addresses: Iterable[str]) -> None:
    """Raise `UsageError` if an address is on another machine and has no TLS."""
    for address in addresses:
        if not _is_private(address):
            problem = "is not encrypted: anybody who can reach such a scheduler or its workers can decide verdicts"
            raise UsageError(f"{address} {problem}; give a tls:// address, or --plain-tcp in a network that you trust")


def _is_private(scheduler: str) -> bool:
    """Return whether a scheduler's address uses TLS or belongs to this machine."""
    scheme, mark, place = scheduler.rpartition("://")
    host = place.rpartition(":")[0].strip("[]") if ":" in place else place
    if mark and scheme in ("tls", "wss"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


CONNECT_SECONDS = 5.0
"""Seconds in which a scheduler must answer and its first worker must be available."""

RETRIES = 2
"""How often Dask retries a task that raised.

Dask also retries a task whose worker died, up to the scheduler's `allowed-failures` (three by default). With a
`worker-saturation` of 1.0 a worker has only the tasks that it is running, so that its death counts against no other
task.
"""

CONNECTED = "running"
"""Dask's status of a client that is connected to its scheduler."""


class RemoteCall(Struct, frozen=True, kw_only=True):
    """A function that a worker runs beside its examiner, and the type of its argument."""

    function: Callable[[CourseLocation, Any], TaskResult]
    argument_type: Any


REMOTE_CALLS = {
    "judge": RemoteCall(function=tasks.judge, argument_type=Task),
    "judge_starter": RemoteCall(function=tasks.judge_starter, argument_type=str),
}


VERSIONS = {WorkKind.MODULE: versions, WorkKind.TRAP: versions_for_traps}


class RemoteRequest(Struct, frozen=True, kw_only=True):
    """A call of one of `REMOTE_CALLS`, and the versions that the worker must have."""

    kind: str
    payload: bytes
    exercise: str
    versions: Versions
    is_strict: bool
    work: WorkKind = WorkKind.MODULE


@contextlib.contextmanager
def _cluster_engine(
    course: Course, address: str, *, is_strict: bool, allows_plain_tcp: bool = False
) -> Iterator[Engine]:
    """Open an engine with an examiner for each thread of the cluster's workers. Examiners live as long as the workers.

    Raise `UsageError` if no scheduler answers, if there is no worker, or if one of them listens beyond this machine
    without TLS.
    """
    with contextlib.closing(_connect(address)) as client:
        if not allows_plain_tcp:  # a scheduler that answers at a loopback address may answer at others too
            _require_private(listening_addresses(client.scheduler_info(n_workers=-1)))
        executor = _ClusterExecutor(client, course, address)
        try:
            location = CourseLocation(root="", is_strict=is_strict)
            yield Engine(executor=executor, width=sum(client.nthreads().values()), location=location)
        finally:
            executor.shutdown(wait=False)


def listening_addresses(scheduler_info: Mapping[str, Any]) -> Iterator[str]:
    """Yield the addresses at which a scheduler, its workers and their nannies listen."""
    yield scheduler_info["address"]
    for address, worker in scheduler_info["workers"].items():
        yield address
        if worker.get("nanny"):
            yield worker["nanny"]


def answer(message: bytes) -> bytes:
    """Answer a request on a worker, with the course in the worker's folder. Dask calls this."""
    request = msgspec.msgpack.decode(message, type=RemoteRequest)
    remote_call = REMOTE_CALLS[request.kind]
    try:
        course = find_course(Path.cwd())
        refusal = _refusal(request, course)
    except (KitError, OSError) as error:
        refusal = TaskResult(error=f"the worker on {socket.gethostname()} has no course to judge by: {error}")
    if refusal is not None:
        return msgspec.msgpack.encode(refusal)
    location = CourseLocation(root=str(course.root), is_strict=request.is_strict)
    argument = msgspec.msgpack.decode(request.payload, type=remote_call.argument_type)
    return msgspec.msgpack.encode(remote_call.function(location, argument))


def _refusal(request: RemoteRequest, course: Course) -> TaskResult | None:
    """Return why this worker's versions differ from the batch's; None if they are equal."""
    own, expected = VERSIONS[request.work](course, request.exercise), request.versions
    worker = f"the worker on {socket.gethostname()}"
    if (own.kit, own.torch) != (expected.kit, expected.torch):
        difference = f"has kit {own.kit}, torch {own.torch}; the batch has kit {expected.kit}, torch {expected.torch}"
        return TaskResult(error=f"{worker} {difference}; install the same versions on both")
    if own.exercise != expected.exercise:
        text = f"{worker} has another version of {request.exercise} in {course.root}; copy the batch's version there"
        return TaskResult(error=text, is_exercise_broken=True)
    return None


class _ClusterExecutor(Executor):
    """Send calls of the functions in `REMOTE_CALLS` through Dask's executor. The futures never raise."""

    def __init__(self, client: Any, course: Course, address: str) -> None:
        self._client = client
        self._inner: Any = client.get_executor(pure=False, retries=RETRIES)
        self._course = course
        self._address = address
        self._versions: dict[tuple[str, WorkKind], Versions] = {}
        self._group = f"grader-{secrets.token_hex(8)}"  # a group's tasks stay on the scheduler until a worker is free
        self._numbers = itertools.count()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        """Run `function(location, payload)` on some worker. Raise `KitError` if the scheduler is gone."""
        location, payload = arguments
        name = function.__name__
        message = msgspec.msgpack.encode(self._request(name, payload, is_strict=location.is_strict))
        inner = self._inner.submit(answer, message, key=(self._group, next(self._numbers)))
        if self._client.status != CONNECTED:  # checked after sending: if the connection breaks now, Dask cancels it
            raise KitError(f"the scheduler at {self._address} is gone; the same command continues from here")
        outer: Future[Any] = Future()
        inner.add_done_callback(lambda done: outer.set_result(_result(done)))
        return outer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - as in Executor
        """Cancel the pending requests; workers end them by themselves."""
        if self._client.status == CONNECTED:
            self._inner.shutdown(wait=False)

    def _request(self, name: str, payload: Any, *, is_strict: bool) -> RemoteRequest:
        exercise = payload.record.exercise if isinstance(payload, Task) else payload
        work = payload.record.kind if isinstance(payload, Task) else WorkKind.MODULE
        if (exercise, work) not in self._versions:
            self._versions[exercise, work] = VERSIONS[work](self._course, exercise)
        return RemoteRequest(
            kind=name,
            payload=msgspec.msgpack.encode(payload),
            exercise=exercise,
            versions=self._versions[exercise, work],
            work=work,
            is_strict=is_strict,
        )


def _result(done: Future[bytes]) -> TaskResult:
    """Return the result of a finished task; if the task failed, a result with the reason."""
    try:
        return msgspec.msgpack.decode(done.result(), type=TaskResult)
    except BaseException as error:  # noqa: BLE001 - an error on a worker must not end the batch
        return TaskResult(error=_explained(error))


def _explained(error: BaseException) -> str:
    """Return a sentence that explains why a task has no result."""
    name = type(error).__name__
    if name == "KilledWorker":
        return "every worker of the cluster that judged it died"
    if "Cancelled" in name:
        return "the cluster dropped it: its scheduler is gone"
    first_line = next(iter(str(error).splitlines()), "")
    return f"a worker of the cluster raised {name}: {first_line}"


def _connect(address: str) -> Any:
    """Return a client of the scheduler, which has at least one worker. Raise `UsageError` otherwise."""
    require_package("distributed", "cluster")
    from distributed import Client

    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # the errors below say it in one sentence
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except TypeError as error:  # raised by Dask if a TLS address has no certificates
        text = "Dask's settings name no certificates for this client"
        raise UsageError(f"{address}: {text}; set them as solutions/README.md shows") from error
    except (OSError, ValueError) as error:
        text = f"no scheduler answers at {address} within {CONNECT_SECONDS:.0f} s"
        raise UsageError(f"{text}; start one with dask scheduler, and give the address that it shows") from error
    try:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except TimeoutError as error:
        client.close()
        text = f"the scheduler at {address} has no worker"
        raise UsageError(f"{text}; start one with dask worker {address}, in the course's folder") from error
    return client
