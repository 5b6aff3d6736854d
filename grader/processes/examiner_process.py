"""Both ends of an examiner process: its owner starts, asks, cancels and restarts it; the process answers requests.

A `Service` is the program that the process runs.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Generic, NoReturn, ParamSpec, Self, TypeVar

import msgspec
from msgspec import Struct

from grader.errors import INTERRUPTED, KitError, LostNurseryError, error_named
from grader.processes.deadlines import EXAMINER_END_SECONDS, EXAMINER_START_SECONDS
from grader.sandbox import wire
from grader.sandbox.wire import ClosedError
from grader.spec.paths import PACKAGE

MAX_DEATHS = 2
"""Number of process deaths after which a request is given up."""

P = ParamSpec("P")
T = TypeVar("T")
Stamps = tuple[tuple[str, int, int], ...]


class Service(Struct, frozen=True, kw_only=True):
    """The module that a process runs with `python -m`, and its arguments; the module calls `run_service`."""

    module: str
    arguments: tuple[str, ...]


class ServiceRequest(Struct, frozen=True, kw_only=True):
    """A request to a service.

    `body` has the type of the service's `ServiceRequests`. `name` is used in messages, and `seconds` is the time limit.
    The service prepares for a `topic` once; the process restarts if the `stamps` of the topic's files have changed
    since.
    """

    body: object
    name: str
    seconds: float
    topic: str = ""
    stamps: Stamps = ()


class _Reply(Struct, frozen=True, kw_only=True):
    """The encoded answer, or an error of the kit: the name of its class in `grader.errors`, and its message."""

    answer: bytes = b""
    error: str = ""
    error_message: str = ""


class CancelledError(KitError):
    """The request was cancelled."""


class ExaminerDiedError(KitError):
    """The process died twice on one request; other requests still work."""


def usable_cores() -> int:
    """Return how many cores this process may use, which is how many examiners run in parallel."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ExaminerProcess:
    """A process that answers one request at a time: started on first use, restarted if it dies.

    Only `cancel` may be called from another thread.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self.is_cancelled = False
        self._process: subprocess.Popen[bytes] | None = None
        self._inherited: subprocess.Popen[bytes] | None = None
        self._stamps: dict[str, Stamps] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def has_prepared(self, topic: str) -> bool:
        """Return whether the process is prepared for the topic; if so, it answers faster."""
        return topic in self._stamps

    def ask(self, request: ServiceRequest, answer_type: type[T]) -> T:
        """Return the answer, or raise the error of the kit that the service raised.

        Raise `ExaminerDiedError` or `CancelledError` if the process does not answer.
        """
        if request.topic:
            if self._stamps.get(request.topic, request.stamps) != request.stamps:
                self.close()
            self._stamps[request.topic] = request.stamps
        for _ in range(MAX_DEATHS):
            frame = None if self.is_cancelled else self._ask_once(request)
            if frame is not None:
                reply = msgspec.msgpack.decode(frame, type=_Reply)
                if reply.error:
                    raise error_named(reply.error, reply.error_message)
                return msgspec.msgpack.decode(reply.answer, type=answer_type)
            if self.is_cancelled:
                raise CancelledError(f"{request.name} was cancelled")
        raise ExaminerDiedError(f"the examiner process died twice while judging {request.name}")

    def close(self) -> None:
        """End the process with its nursery and workers, and forget the prepared topics."""
        process, self._process = self._process, None
        self._stamps = {}
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(BrokenPipeError):
                    if pipe is not None:
                        pipe.close()
            try:
                process.wait(EXAMINER_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def cancel(self) -> None:
        """Kill the process permanently, even during a request. Callable from any thread."""
        self.is_cancelled = True
        process = self._process
        if process is not None:
            process.kill()

    def abandon(self) -> None:
        """In a forked child: drop the pipes without writing to them; the process belongs to the parent."""
        process, self._process = self._process, None
        self._inherited = process  # never freed: a thread of the parent may own a lock of its pipes
        if process is not None:
            null = os.open(os.devnull, os.O_RDWR)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None and not pipe.closed:
                    os.dup2(null, pipe.fileno(), inheritable=False)
            os.close(null)
            process.returncode = 0  # the parent reaps it

    def _ask_once(self, request: ServiceRequest) -> bytes | None:
        """Return the reply, or None if the process died. The process is killed at its deadline."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = threading.Timer(request.seconds + EXAMINER_START_SECONDS, process.kill)
        deadline.daemon = True
        deadline.start()
        try:
            process.stdin.write(wire.frame(msgspec.msgpack.encode(request.body)))
            process.stdin.flush()
            return wire.read_frame(process.stdout.read)
        except (BrokenPipeError, ClosedError):
            stamps = self._stamps
            self.close()
            self._stamps = stamps
            return None
        except BaseException:  # such as an interrupt inside a frame: the next frame is unreadable
            process.kill()
            self.close()
            raise
        finally:
            deadline.cancel()

    def _started(self) -> "subprocess.Popen[bytes]":
        """Return the process, started if necessary; it ignores Ctrl-C, which its owner handles."""
        if self._process is not None:
            return self._process
        with _interrupts_blocked():
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", self.service.module, *self.service.arguments],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    cwd=PACKAGE.parent,
                )
            except OSError as error:
                raise KitError(f"no examiner process can be started: {error.strerror}; end other programs") from error
        if self.is_cancelled:
            self.cancel()
        return self._process


def run_service(serve: Callable[[], None]) -> NoReturn:
    """Be an examiner process: call `serve`, which answers `ServiceRequests` until stdin ends, and exit."""
    status = 0
    try:
        serve()
    except (BrokenPipeError, LostNurseryError):
        pass  # the owner is gone, or notices the end of the pipe
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.stderr.flush()
    os._exit(status)


class ServiceRequests(Generic[T]):
    """In an examiner process: iterate over the requests from stdin, and answer each before the next."""

    def __init__(self, request_type: type[T]) -> None:
        self._decoder = msgspec.msgpack.Decoder(request_type)
        self._answers = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # other printed output must not mix with answers

    def __iter__(self) -> Iterator[T]:
        with contextlib.suppress(ClosedError):
            while True:
                yield self._decoder.decode(wire.read_frame(sys.stdin.buffer.read))

    def answer(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Answer the last request with what the function returns or with the error of the kit that it raises."""
        try:
            reply = _Reply(answer=msgspec.msgpack.encode(function(*args, **kwargs)))
        except LostNurseryError:
            raise  # this process cannot judge any more; its owner starts another
        except KitError as error:
            reply = _Reply(error=type(error).__name__, error_message=str(error))
        self._answers.write(wire.frame(msgspec.msgpack.encode(reply)))
        self._answers.flush()


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block SIGINT permanently for processes started inside the block."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
