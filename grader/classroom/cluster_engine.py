"""The engine of a batch on a Dask cluster, to which no code is sent."""

import contextlib
import ipaddress
import itertools
import logging
import secrets
import socket
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from grader.classroom import tasks
from grader.classroom.run import Engine
from grader.classroom.tasks import CourseLocation
from grader.classroom.work import WORK, Task, TaskResult
from grader.errors import KitError, UsageError, require_package
from grader.spec.paths import Course, find_course

CONNECT_SECONDS = 5.0
"""Seconds in which a scheduler must answer."""

FIRST_WORKER_SECONDS = 30.0
"""Seconds in which its first worker must connect. The worker imports torch first."""

RETRIES = 2
"""How often Dask retries a task that raised.

Dask also retries a task whose worker died, up to the scheduler's `allowed-failures` (three by default). With a
`worker-saturation` of 1.0 a worker has only the tasks that it is running, so that its death counts against no other
task.
"""

CONNECTED = "running"
"""Dask's status of a client that is connected to its scheduler."""


@contextlib.contextmanager
def cluster_engine(address: str, *, is_strict: bool, allows_plain_tcp: bool) -> Iterator[Engine]:
    """Open an engine with an examiner for each thread of the cluster's workers. Examiners live as long as the workers.

    Raise `UsageError` if no scheduler answers, if there is no worker, or if one of them listens beyond this machine
    without TLS.
    """
    with contextlib.closing(_connect(address)) as client:
        if not allows_plain_tcp:  # a scheduler that answers at a loopback address may answer at others too
            require_private(listening_addresses(client.scheduler_info(n_workers=-1)))
        engine = _ClusterEngine(client, address, is_strict=is_strict)
        try:
            yield engine
        finally:
            engine.shutdown()


def require_private(addresses: Iterable[str]) -> None:
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


def listening_addresses(scheduler_info: Mapping[str, Any]) -> Iterator[str]:
    """Yield the addresses at which a scheduler, its workers and their nannies listen."""
    yield scheduler_info["address"]
    for address, worker in scheduler_info["workers"].items():
        yield address
        if worker.get("nanny"):
            yield worker["nanny"]


class RemoteTask(Struct, frozen=True, kw_only=True):
    """A task for a worker of a cluster, which must have the task's versions."""

    task: Task
    is_strict: bool


def answer(message: bytes) -> bytes:
    """Judge a `RemoteTask` on a worker, with the course in the worker's folder. Dask calls this."""
    remote = msgspec.msgpack.decode(message, type=RemoteTask)
    try:
        course = find_course(Path.cwd())
        refusal = _refusal(remote.task, course)
    except (KitError, OSError) as error:
        refusal = TaskResult(error=f"the worker on {socket.gethostname()} has no course to judge by: {error}")
    if refusal is not None:
        return msgspec.msgpack.encode(refusal)
    location = CourseLocation(root=str(course.root), is_strict=remote.is_strict)
    return msgspec.msgpack.encode(tasks.judge(location, remote.task))


def _refusal(task: Task, course: Course) -> TaskResult | None:
    """Return why this worker's versions differ from the batch's; None if they are equal."""
    own, expected = WORK[task.record.kind].versions(course, task.record.exercise), task.versions
    worker = f"the worker on {socket.gethostname()}"
    if (own.kit, own.torch) != (expected.kit, expected.torch):
        difference = f"has kit {own.kit}, torch {own.torch}; the batch has kit {expected.kit}, torch {expected.torch}"
        return TaskResult(error=f"{worker} {difference}; install the same versions on both")
    if own.exercise != expected.exercise:
        difference = f"has another version of {task.record.exercise} in {course.root}"
        return TaskResult(error=f"{worker} {difference}; copy the batch's version there", is_exercise_broken=True)
    return None


class _ClusterEngine:
    """Sends tasks through Dask's executor. The futures never raise."""

    memory_bytes = 0

    def __init__(self, client: Any, address: str, *, is_strict: bool) -> None:
        self.width, self.is_strict = sum(client.nthreads().values()), is_strict
        self._client = client
        self._executor: Any = client.get_executor(pure=False, retries=RETRIES)
        self._address = address
        self._group = f"grader-{secrets.token_hex(8)}"  # a group's tasks stay on the scheduler until a worker is free
        self._numbers = itertools.count()

    def judge(self, task: Task) -> Future[TaskResult]:
        """Judge a task on some worker. Raise `KitError` if the scheduler is gone."""
        message = msgspec.msgpack.encode(RemoteTask(task=task, is_strict=self.is_strict))
        inner = self._executor.submit(answer, message, key=(self._group, next(self._numbers)))
        if self._client.status != CONNECTED:  # checked after sending: if the connection breaks now, Dask cancels it
            raise KitError(f"the scheduler at {self._address} is gone; the same command continues from here")
        outer: Future[TaskResult] = Future()
        inner.add_done_callback(lambda done: outer.set_result(_result(done)))
        return outer

    def shutdown(self) -> None:
        """Cancel the pending tasks; workers end them by themselves."""
        if self._client.status == CONNECTED:
            self._executor.shutdown(wait=False)


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
        client.wait_for_workers(1, timeout=FIRST_WORKER_SECONDS)
    except TimeoutError as error:
        client.close()
        text = f"the scheduler at {address} has no worker after {FIRST_WORKER_SECONDS:.0f} s"
        raise UsageError(f"{text}; start one with dask worker {address}, in the course's folder") from error
    return client
