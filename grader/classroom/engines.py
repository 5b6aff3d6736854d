"""Engines of a batch: a pool of threads beside examiner processes, or a Dask cluster, to which no code travels."""

import contextlib
import itertools
import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from grader.classroom import tasks
from grader.classroom.gradebook import Versions
from grader.classroom.run import Engine
from grader.classroom.tasks import CourseLocation, Task, TaskResult, cancel_examiners, close_examiners, versions
from grader.errors import KitError, UsageError
from grader.processes.examiner_process import usable_cores
from grader.spec.paths import Course, find_course
from grader.submission import Submission


@contextlib.contextmanager
def local_engine(course: Course, jobs: int, *, is_strict: bool) -> Iterator[Engine]:
    """An engine of `jobs` examiners, which are ended with it, whatever they are judging."""
    executor = _ExerciseExecutor(jobs)
    try:
        yield Engine(executor, jobs, CourseLocation(str(course.root), is_strict), machine_memory())
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        cancel_examiners()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        close_examiners()


class _Waiting(NamedTuple):  # a call; `exercise` is empty where it is for none
    exercise: str
    future: "Future[Any]"
    act: Callable[[], Any]


class _ExerciseExecutor(Executor):
    """Threads beside one examiner each, which prefer exercises that they have begun, then those that nobody has.

    Opening an exercise takes as long as judging a submission to it. Whoever would be idle takes what comes first.
    """

    def __init__(self, jobs: int) -> None:
        self._waiting: list[_Waiting] = []
        self._change = threading.Condition()
        self._is_over = False
        self._begun: list[set[str]] = [{""} for _ in range(jobs)]
        self._threads = [threading.Thread(target=self._run, args=(begun,)) for begun in self._begun]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        names = [each.record.exercise if isinstance(each, Task) else each for each in args]
        exercise = next((name for name in names if isinstance(name, str)), "")
        waiting = _Waiting(exercise, Future(), partial(fn, *args, **kwargs))
        with self._change:
            self._waiting.append(waiting)
            self._change.notify()
        return waiting.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._change:
            self._is_over = True
            for each in self._waiting if cancel_futures else ():
                each.future.cancel()
            self._change.notify_all()
        for thread in self._threads if wait else ():
            thread.join()

    def _run(self, begun: set[str]) -> None:
        while (task := self._next(begun)) is not None:
            if task.future.set_running_or_notify_cancel():
                try:
                    task.future.set_result(task.act())
                except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
                    task.future.set_exception(error)

    def _next(self, begun: set[str]) -> _Waiting | None:
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._is_over)
            if not self._waiting:
                return None
            everywhere = set().union(*self._begun)
            preferred = (begun.__contains__, lambda exercise: exercise not in everywhere, lambda _: True)
            chosen = next(each for fits in preferred for each in self._waiting if fits(each.exercise))
            self._waiting.remove(chosen)
            begun.add(chosen.exercise)
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

    return _cluster_engine(course, scheduler, is_strict=is_strict)


CONNECT_SECONDS = 5.0
"""How long a scheduler may take to answer, and its first worker to be there."""

RETRIES = 2
"""How often Dask tries a task again that raised. One whose worker died it tries again by itself, as often as the
scheduler's `allowed-failures` says: three times, if nobody has set it. Where `worker-saturation` is 1.0, a worker holds
nothing but what it judges, and its death is counted against nothing else."""

CONNECTED = "running"
"""What Dask calls a client that has its scheduler."""


class RemoteCall(NamedTuple):
    """A function that runs beside an examiner, with its argument and result."""

    function: Callable[[CourseLocation, Any], Any]
    takes: Any
    gives: Any


REMOTE_CALLS = {
    "judge": RemoteCall(tasks.judge, Task, TaskResult),
    "fingerprint": RemoteCall(tasks.fingerprint, Submission, str),
    "trial": RemoteCall(tasks.trial, str, TaskResult),
}


class RemoteRequest(Struct, frozen=True):
    """A call of one of `REMOTE_CALLS`, and the versions that its answer must rest on; fingerprints need no exercise."""

    kind: str
    payload: bytes
    exercise: str
    versions: Versions
    is_strict: bool


@contextlib.contextmanager
def _cluster_engine(course: Course, address: str, *, is_strict: bool) -> Iterator[Engine]:
    """An engine of as many examiners as the cluster's workers have threads; they stand until their workers end.

    `UsageError` where no scheduler answers or no worker is there.
    """
    with contextlib.closing(_connect(address)) as client:
        executor = _ClusterExecutor(client, course, address)
        try:
            yield Engine(executor, sum(client.nthreads().values()), CourseLocation("", is_strict))
        finally:
            executor.shutdown(wait=False)


def answer(message: bytes) -> bytes:
    """Return a worker's answer to a request, judged by the course in its folder. Called by Dask."""
    request = msgspec.msgpack.decode(message, type=RemoteRequest)
    kind = REMOTE_CALLS[request.kind]
    try:
        course = find_course(Path.cwd())
        refusal = _why_refused(request, course)
    except (KitError, OSError) as error:
        refusal = TaskResult(None, f"the worker on {socket.gethostname()} has no course to judge by: {error}")
    if refusal is not None:
        return msgspec.msgpack.encode(refusal if kind.gives is TaskResult else "")
    location = CourseLocation(str(course.root), request.is_strict)
    return msgspec.msgpack.encode(kind.function(location, msgspec.msgpack.decode(request.payload, type=kind.takes)))


def _why_refused(request: RemoteRequest, course: Course) -> TaskResult | None:
    """On a worker: why its verdict would not be the batch's own."""
    here, wanted = versions(course, request.exercise or course.first_exercise()), request.versions
    where = f"the worker on {socket.gethostname()}"
    if (here.kit, here.torch) != (wanted.kit, wanted.torch):
        has = f"has kit {here.kit} with torch {here.torch}, the batch {wanted.kit} with {wanted.torch}"
        return TaskResult(None, f"{where} {has}; install the same on both")
    if request.exercise and here.exercise != wanted.exercise:
        text = f"{where} has another version of {request.exercise} in {course.root}; bring both to the same"
        return TaskResult(None, text, is_exercise_broken=True)
    return None


class _ClusterExecutor(Executor):
    """Sends calls of the functions in `REMOTE_CALLS` through Dask's executor; its futures never raise."""

    def __init__(self, client: Any, course: Course, address: str) -> None:
        self._client = client
        self._inner: Any = client.get_executor(pure=False, retries=RETRIES)
        self._course = course
        self._address = address
        self._versions: dict[str, Versions] = {}
        self._group = f"grader-{secrets.token_hex(8)}"  # Dask keeps a group's tasks on the scheduler until one is free
        self._numbers = itertools.count()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        """What `function(location, payload)` gives on some worker; `KitError` where the cluster has gone."""
        location, payload = arguments
        name = function.__name__
        message = msgspec.msgpack.encode(self._request(name, payload, is_strict=location.is_strict))
        inner = self._inner.submit(answer, message, key=(self._group, next(self._numbers)))
        if self._client.status != CONNECTED:  # only now: what was sent before the connection broke has been cancelled
            raise KitError(f"the scheduler at {self._address} is gone; the same command goes on from here")
        outer: Future[Any] = Future()
        inner.add_done_callback(lambda done: outer.set_result(self._received(REMOTE_CALLS[name], done)))
        return outer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - as in Executor
        """Cancel the pending requests; workers end them by themselves."""
        if self._client.status == CONNECTED:
            self._inner.shutdown(wait=False)

    def _request(self, name: str, payload: Any, *, is_strict: bool) -> RemoteRequest:
        exercise = payload.record.exercise if isinstance(payload, Task) else payload if isinstance(payload, str) else ""
        known = exercise or self._course.first_exercise()
        if known not in self._versions:
            self._versions[known] = versions(self._course, known)
        return RemoteRequest(name, msgspec.msgpack.encode(payload), exercise, self._versions[known], is_strict)

    def _received(self, kind: RemoteCall, done: Future[bytes]) -> Any:
        """The answer; where there is none, in the same form, why."""
        try:
            return msgspec.msgpack.decode(done.result(), type=kind.gives)
        except BaseException as error:  # noqa: BLE001 - what ends a task elsewhere must not end the batch
            return TaskResult(None, _explained(error)) if kind.gives is TaskResult else ""


def _explained(error: BaseException) -> str:
    """Why a task came back without an answer."""
    name = type(error).__name__
    if name == "KilledWorker":
        return "every worker of the cluster that it was given to has died"
    if "Cancelled" in name:
        return "the cluster has dropped it: its scheduler is gone"
    first_line = next(iter(str(error).splitlines()), "")
    return f"a worker of the cluster raised {name}: {first_line}"


def _connect(address: str) -> Any:
    """A client of the scheduler, with one worker at least."""
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError("a cluster needs Dask; install it with pip install -e '.[cluster]'") from error
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what it would say is said here, in one sentence
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        text = f"no scheduler answers at {address} within {CONNECT_SECONDS:.0f} s"
        raise UsageError(f"{text}; start one with dask scheduler, and name the address it shows") from error
    try:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except TimeoutError as error:
        client.close()
        text = f"the scheduler at {address} has no worker"
        raise UsageError(f"{text}; start one with dask worker {address}, in the course's folder") from error
    return client
