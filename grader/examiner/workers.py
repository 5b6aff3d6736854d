"""Workers as the examiner holds them: a connection, a deadline, and a way to end them."""

import collections
import contextlib
import os
import signal
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from grader.course.records import Limits
from grader.errors import KitError, LostNurseryError
from grader.submission import Submission
from grader.worker.nursery import ANSWER, FORK, ORDER, REAP, run_nursery
from grader.worker.protocol import (
    ClosedError,
    Isolation,
    MalformedError,
    Parse,
    Parsed,
    Reply,
    Request,
    Source,
    receive_reply,
    send,
)
from grader.worker.sandbox import PR_SET_DUMPABLE, control_process

CONFINE_SECONDS = 30.0
"""How long entering all layers may take on a machine that is busy with other things; it takes about 10 ms."""


class DiedError(Exception):
    """The worker is gone; the message says how it ended."""


class Worker:
    """A running worker. `request` never blocks past its deadline; `kill` and `end` leave no process behind."""

    def __init__(self, connection: socket.socket, stdout: IO[bytes], process: "Process") -> None:
        self._connection = connection
        self._stdout = stdout
        self._process = process
        self._read_to = 0
        self._is_killed = False
        self._ended = ""

    def wait_until_confined(self) -> Isolation:
        """Which protections hold around it; `KitError` when it does not get so far, for no submission has run yet."""
        try:
            reply = receive_reply(self._connection, time.monotonic() + CONFINE_SECONDS)
        except (ClosedError, TimeoutError, MalformedError) as error:
            raise KitError(f"a worker could not be confined: it {self.end()}") from error
        assert isinstance(reply, Isolation)
        return reply

    def request(self, message: Request, deadline: float) -> Reply:
        """The worker's reply; `TimeoutError` past the deadline (`time.monotonic`), `DiedError` or `MalformedError`."""
        try:
            self._connection.settimeout(max(deadline - time.monotonic(), 0.001))
            send(self._connection, message)
            return receive_reply(self._connection, deadline)
        except ClosedError as error:
            raise DiedError(self.end()) from error

    def printed(self) -> bytes:
        """What has come to stdout since this was last asked."""
        size = os.fstat(self._stdout.fileno()).st_size
        try:
            text = os.pread(self._stdout.fileno(), max(size - self._read_to, 0), self._read_to)
        except OSError:  # where seccomp is missing, a worker may set flags on the file that it shares with this process
            return b""
        self._read_to = size
        return text

    def kill(self) -> None:
        """Kill the worker and everything it started; what is left of it is cleared away while nobody waits."""
        if not self._is_killed:
            self._is_killed = True
            self._connection.close()
            self._stdout.close()
            self._process.kill()

    def end(self) -> str:
        """Kill the worker and everything it started; the way it ended, in words."""
        self.kill()
        if not self._ended:
            self._ended = "was lost"  # if what follows does not come to its end, it is not tried again
            self._ended = describe_end(self._process.wait())
        return self._ended


class Process(Protocol):
    """A worker's process, with everything that it started."""

    def kill(self) -> None:
        """Kill it; what is left is cleared away sooner or later."""

    def wait(self) -> int:
        """Its exit code, or its signal's number below zero, once nothing is left of it."""


class WorkerSource(Protocol):
    """Where workers come from."""

    def order(self, limits: Limits) -> None: ...

    def start(self, limits: Limits) -> Worker: ...

    def settle(self) -> None: ...

    def close(self) -> None: ...


class Nursery:
    """Forks workers from a process that holds torch and no secret. Make it before opening any check or reference."""

    def __init__(self) -> None:
        _require_single_thread()
        self._control, theirs = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        self._process = os.fork()
        if self._process == 0:
            run_nursery(theirs)
        theirs.close()
        self._ordered: _Forked | None = None
        self._asked: collections.deque[_Asked] = collections.deque()

    def order(self, limits: Limits) -> None:
        """Have the next worker forked while the caller does something else."""
        if self._ordered is not None:
            return
        ours, theirs = socket.socketpair()
        stdout = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the worker ends
        with theirs, tempfile.TemporaryFile() as stderr:
            order = ORDER.pack(FORK, 0, limits.output_bytes, limits.memory_mb << 20)
            with _nursery_alive():
                socket.send_fds(self._control, [order], [theirs.fileno(), stdout.fileno(), stderr.fileno()])
        self._ordered = _Forked(self, limits, ours, stdout)
        self._asked.append(self._ordered)

    def start(self, limits: Limits) -> Worker:
        """A fresh worker, confined to the limits."""
        if self._ordered is not None and self._ordered.limits != limits:
            self._cancel()
        self.order(limits)
        forked, self._ordered = self._ordered, None
        assert forked is not None
        self.listen_for(forked)
        return Worker(forked.connection, forked.stdout, forked)

    def settle(self) -> None:
        """Wait until nothing is left of workers that were killed."""
        if self._asked:
            self.listen_for(self._asked[-1])

    def close(self) -> None:
        """End the nursery, with all its workers, and wait for it."""
        if self._ordered is not None:
            self._cancel()
        self._control.close()
        os.waitpid(self._process, 0)

    def reap(self, process: int) -> "_Asked":
        """Have a worker that was killed cleared away, and what it started."""
        with _nursery_alive():
            self._control.sendall(ORDER.pack(REAP, process, 0, 0))
        reaped = _Asked()
        self._asked.append(reaped)
        return reaped

    def listen_for(self, wanted: "_Asked") -> None:
        """Take in answers, which come in the order of the questions, until this one has come."""
        while not wanted.has_come:
            asked = self._asked.popleft()
            with _nursery_alive():
                answer, asked.handles, _, _ = socket.recv_fds(self._control, ANSWER.size, 1)
                (asked.answer,) = ANSWER.unpack(answer)
            asked.has_come = True

    def _cancel(self) -> None:
        assert self._ordered is not None
        forked, self._ordered = self._ordered, None
        self.listen_for(forked)
        Worker(forked.connection, forked.stdout, forked).kill()


def _require_single_thread() -> None:
    """Raise `KitError` unless this process may fork: a forked copy of a torch with threads hangs."""
    tasks = Path("/proc/self/task")
    if tasks.is_dir() and len(list(tasks.iterdir())) != 1:
        raise KitError("torch has started threads, so workers cannot be forked; unset OMP_NUM_THREADS and its kin")


@contextlib.contextmanager
def _nursery_alive() -> Iterator[None]:
    """Turns what a dead nursery makes of a message, a closed socket or an answer cut short, into `LostNurseryError`."""
    try:
        yield
    except (OSError, struct.error) as error:
        raise LostNurseryError("the process that starts workers has died; run the command again") from error


@dataclass(kw_only=True)
class _Asked:
    """An order to the nursery, and its answer once that has come: to clear a worker away, the wait status."""

    answer: int = 0
    handles: list[int] = field(default_factory=list)
    has_come: bool = False


@dataclass
class _Forked(_Asked):
    """An order for a worker; the answer is its process id, and a descriptor for it comes along."""

    nursery: Nursery
    limits: Limits
    connection: socket.socket
    stdout: IO[bytes]
    reaped: _Asked | None = None

    def kill(self) -> None:
        (handle,) = self.handles
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)
        self.reaped = self.nursery.reap(self.answer)

    def wait(self) -> int:
        assert self.reaped is not None
        self.nursery.listen_for(self.reaped)
        return os.waitstatus_to_exitcode(self.reaped.answer)


def hide_memory() -> None:
    """Keep other processes of the same user from reading this one's memory."""
    control_process(PR_SET_DUMPABLE, 0)


def describe_end(exit_code: int) -> str:
    """How a process ended, in words."""
    if exit_code >= 0:
        return f"ended the process with exit code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    return {"SIGSEGV": "crashed the interpreter (segmentation fault)", "SIGKILL": "was killed"}.get(
        name, f"was ended by {name}"
    )


READ_SECONDS = 2.0
"""How long parsing may take; an ordinary submission takes about two milliseconds."""


class Reader:
    """One worker for many submissions: what it parses has no say in what it answers."""

    def __init__(self, source: WorkerSource) -> None:
        self._source = source
        self._worker: Worker | None = None

    def fingerprint(self, submission: Submission) -> str:
        """The same for sources that differ in layout and comments alone; empty where there is no syntax tree."""
        if self._worker is None:
            self._worker = self._source.start(Limits())
            self._worker.wait_until_confined()
        chunks = [Source(chunk.label, chunk.text) for chunk in submission.chunks]
        try:
            reply = self._worker.request(Parse(chunks), time.monotonic() + READ_SECONDS)
        except (DiedError, MalformedError, TimeoutError):
            self.close()  # a tree too deep ends its parser; the next submission gets a new one
            return ""
        return reply.fingerprint if isinstance(reply, Parsed) else ""

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None
