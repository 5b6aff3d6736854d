"""An examiner process, from both ends: its owner starts, asks, cancels and restarts it; the process reads its requests.

What the process runs is passed to it as a `Service`.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Self

from msgspec import Struct

from grader.errors import KitError
from grader.processes.deadlines import EXAMINER_END_SECONDS, EXAMINER_START_SECONDS
from grader.sandbox import wire
from grader.sandbox.wire import ClosedError
from grader.spec.paths import PACKAGE

MOST_DEATHS = 2
"""A request that the process died of so often is given up."""

Stamps = tuple[tuple[str, int, int], ...]


class Service(Struct, frozen=True, kw_only=True):
    """What a process runs: a module, with arguments, as by `python -m`; it answers `Requests`."""

    module: str
    arguments: tuple[str, ...]


class Request(Struct, frozen=True, kw_only=True):
    """A request to a service.

    `name` is its name in messages, and `seconds` is how long it may take. The service prepares for a `topic` once;
    the process is started anew where the `stamps` of the topic's files have changed since.
    """

    body: bytes
    name: str
    seconds: float
    topic: str = ""
    stamps: Stamps = ()


class CancelledError(KitError):
    """Nobody waits for the answer any more."""


class ExaminerDiedError(KitError):
    """The process died twice of one request; it can answer others."""


def usable_cores() -> int:
    """How many cores this process may use: so many examiners work side by side."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ExaminerProcess:
    """A process that answers requests one by one: started when first used, and again where it died.

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
        """Whether it has answered a request of the topic, so that the next one takes less time."""
        return topic in self._stamps

    def ask(self, request: Request) -> bytes:
        """Return the answer; raises `ExaminerDiedError` or `CancelledError`."""
        if request.topic:
            if self._stamps.get(request.topic, request.stamps) != request.stamps:
                self.close()
            self._stamps[request.topic] = request.stamps
        for _ in range(MOST_DEATHS):
            answer = None if self.is_cancelled else self._ask_once(request)
            if answer is not None:
                return answer
            if self.is_cancelled:
                raise CancelledError(f"{request.name} is not waited for any more")
        raise ExaminerDiedError(f"the examiner's process has died twice of {request.name}")

    def close(self) -> None:
        """End the process, and with it its nursery and workers; what it had prepared goes with it."""
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
        """End the process at once and for good, even while it works; from any thread."""
        self.is_cancelled = True
        process = self._process
        if process is not None:
            process.kill()

    def abandon(self) -> None:
        """In a forked child: give up the pipes without writing to them; the process is the parent's."""
        process, self._process = self._process, None
        self._inherited = process  # not collected: a lock of its pipes may be held by a thread that is not here
        if process is not None:
            null = os.open(os.devnull, os.O_RDWR)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None and not pipe.closed:
                    os.dup2(null, pipe.fileno(), inheritable=False)
            os.close(null)
            process.returncode = 0  # collected by the parent

    def _ask_once(self, request: Request) -> bytes | None:
        """The answer, or None when the process died first; it is killed past its deadline."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = threading.Timer(request.seconds + EXAMINER_START_SECONDS, process.kill)
        deadline.daemon = True
        deadline.start()
        try:
            process.stdin.write(wire.frame(request.body))
            process.stdin.flush()
            return wire.read_frame(process.stdout.read)
        except (BrokenPipeError, ClosedError):
            stamps = self._stamps
            self.close()
            self._stamps = stamps
            return None
        except BaseException:  # such as an interrupt in the middle of a frame, after which the next one is unreadable
            process.kill()
            self.close()
            raise
        finally:
            deadline.cancel()

    def _started(self) -> "subprocess.Popen[bytes]":
        """The process, started where it does not run; it ignores Ctrl-C, which is for its owner."""
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
                raise KitError(f"no examiner process can be started: {error.strerror}; end what else runs") from error
        if self.is_cancelled:
            self.cancel()
        return self._process


class Requests:
    """In an examiner process: iterate over the bodies of requests from stdin, and answer each before the next."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # whatever else is printed is no answer

    def __iter__(self) -> Iterator[bytes]:
        with contextlib.suppress(ClosedError):
            while True:
                yield wire.read_frame(sys.stdin.buffer.read)

    def answer(self, body: bytes) -> None:
        """Answer the last request."""
        self._answers.write(wire.frame(body))
        self._answers.flush()


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """A process started meanwhile does not get SIGINT, now or later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
