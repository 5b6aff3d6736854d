"""Workers on the examiner's side: requests with deadlines, and ways to end a worker."""

import contextlib
import os
import re
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol

from msgspec import Struct, structs

from grader.errors import KitError, OpenHostError
from grader.processes.deadlines import (
    CONFINE_SECONDS,
    GRACE_SECONDS,
    SECONDS_BETWEEN_LOOKS,
    ProcessorTime,
)
from grader.sandbox.protocol import (
    Isolation,
    Reply,
    Request,
    RunTests,
    Source,
    TestRun,
    receive_reply,
    send,
)
from grader.sandbox.text import cut
from grader.sandbox.traps import messages
from grader.sandbox.wire import ClosedError, MalformedError
from grader.spec.exercise import Limits
from grader.submission import Submission


class DiedError(Exception):
    """The worker has ended; the message says how."""


class KilledError(DiedError):
    """Something outside the kit killed the worker: the machine ran out of memory, or somebody ended it."""


class KilledUnconfinedError(KitError):
    """Something outside the kit killed the worker before it was confined, so no submission had run in it."""


class StackFrame(Struct, frozen=True, kw_only=True):
    """A frame of a worker's main thread: a line of a source, and its function."""

    label: str
    line: int
    function: str


MAX_STDERR_BYTES = 10_000
"""How much of the end of stderr is read."""

MAX_MESSAGE = 300
"""The most characters of a line of stderr in a message."""

FRAME = re.compile(rb'^  File "([^"\n]{1,500})", line (\d{1,9}) in ([\w<>]{1,100})$', re.MULTILINE)
"""A line of the output of `faulthandler`, which lists the innermost frame first."""


AT_DISK = "D"
"""The state in /proc of a process that waits for a disk."""

UNREPORTED = (OSError, ValueError, IndexError)
"""The errors of `seconds_waited` on a system that does not report it, or if the process is gone."""


def seconds_waited(process: int | str) -> float:
    """Return how long a process or thread, by its number or name in /proc, has waited for a processor."""
    with open(f"/proc/{process}/schedstat", "rb", buffering=0) as file:
        return int(file.read(100).split()[1]) / 1e9


class Process(Protocol):
    """A worker's process, and all processes that it started."""

    def number(self) -> int:
        """Return its process id in this process's namespace."""

    def dump_stack(self) -> None:
        """Make it write its stack to stderr."""

    def has_ended(self, seconds: float) -> bool:
        """Return whether it ends within this many seconds."""

    def kill(self) -> None:
        """Kill it. It may not be reaped yet when this returns."""

    def wait(self) -> int:
        """Wait until it is gone; return its exit code, or minus the number of the signal that ended it."""


class Worker:
    """A running worker. `request` never blocks past its deadline; `kill` and `end` leave no processes behind."""

    def __init__(self, connection: socket.socket, stdout: IO[bytes], stderr: IO[bytes], process: Process) -> None:
        self._connection = connection
        self._stdout, self._stderr = stdout, stderr
        self._process = process
        self._kept = bytearray()
        """The first bytes of a message that did not come in time; receiving again goes on with them."""
        self._is_killed = False
        self._is_awaited = False
        self._exit_code: int | None = None

    def wait_until_confined(self) -> Isolation:
        """Return the worker's protections. Raises `KitError` if it fails before, since no submission has run yet."""
        try:
            reply = receive_reply(self._connection, time.monotonic() + CONFINE_SECONDS)
        except (ClosedError, TimeoutError, MalformedError) as error:
            ended_by_itself = isinstance(error, ClosedError) and self._process.has_ended(GRACE_SECONDS)
            why = last_complaint(self._stderr)
            how = self.end()
            kind = KilledUnconfinedError if ended_by_itself and self._exit_code in KILLED else KitError
            raise kind(f"a worker could not be confined: it {how}{why}") from error
        assert isinstance(reply, Isolation)
        return reply

    def request(self, message: Request, deadline: float) -> Reply:
        """Send a request and return the reply.

        Raises `TimeoutError` after the deadline (on `time.monotonic`), `DiedError` if the worker ends, `KilledError` if
        something outside the kit killed it, and `MalformedError` for an invalid reply.
        """
        self.send_request(message, deadline)
        return self.next_reply(deadline)

    def next_reply(self, deadline: float) -> Reply:
        """Return the reply to a request that was sent. Raise the errors of `request`.

        After a `TimeoutError`, the caller may try again.
        """
        with self._alive():
            return receive_reply(self._connection, deadline, self._kept)

    def send_request(self, message: Request | RunTests, deadline: float) -> None:
        """Send a request, or make the worker run a trap's tests. Raise the errors of `request`."""
        with self._alive():
            self._connection.settimeout(max(deadline - time.monotonic(), 0.001))
            send(self._connection, message)

    def next_test_message(self, deadline: float) -> messages.TestMessage:
        """Return the next message of a worker that runs tests. Raise the errors of `next_reply`."""
        with self._alive():
            return messages.receive_test_message(self._connection, deadline, self._kept)

    def send_test_message(self, message: TestRun | messages.Answer, deadline: float) -> None:
        """Send the next run, or the subject's reply, to a worker that runs tests. Raise the errors of `request`."""
        with self._alive():
            self._connection.settimeout(max(deadline - time.monotonic(), 0.001))
            messages.send(self._connection, message)

    @contextlib.contextmanager
    def _alive(self) -> Iterator[None]:
        """Raise `DiedError` or `KilledError` if the worker ends while the block sends or receives."""
        try:
            yield
        except ClosedError as error:
            ended_by_itself = self._process.has_ended(GRACE_SECONDS)
            how = self.end()
            raise KilledError(how) if ended_by_itself and self._exit_code in KILLED else DiedError(how) from error

    def printed(self) -> bytes:
        """Return the output on stdout since the last call, and remove it: the limit is for the output in between."""
        printed, descriptor = _read(self._stdout, 0), self._stdout.fileno()
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)  # the worker's own position too: it shares the open file
        return printed

    def processor_time(self, looks: int = 1) -> ProcessorTime:
        """Return its processor time; zeros if the system does not report it.

        Look at its state up to `looks` times, because between two waits for a disk it runs.
        """
        try:
            number = self._process.number()
            waited = seconds_waited(number)
            for look in range(looks):
                time.sleep(SECONDS_BETWEEN_LOOKS if look else 0)
                times = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
                state, *numbers = times.split()
                if state == AT_DISK:
                    break
        except UNREPORTED:
            return ProcessorTime()
        ran = sum(map(int, numbers[10:12])) / os.sysconf("SC_CLK_TCK")
        return ProcessorTime(ran=ran, waited=waited, is_at_disk=state == AT_DISK)

    def waited(self) -> float:
        """Return how many seconds its main thread has waited for a processor; 0 if the system does not report it."""
        try:
            return seconds_waited(self._process.number())
        except UNREPORTED:
            return 0.0

    def where(self) -> list[StackFrame]:
        """Return its main thread's frames, the innermost first. The worker may return none, or lie."""
        before = os.fstat(self._stderr.fileno()).st_size
        self._process.dump_stack()
        until = time.monotonic() + GRACE_SECONDS
        dump = b""
        while time.monotonic() < until and not (dump.endswith(b"\n") and dump == _read(self._stderr, before)):
            dump = _read(self._stderr, before)
            time.sleep(0.005)
        return [
            StackFrame(label=label.decode("ascii", "replace"), line=int(line), function=name.decode("ascii", "replace"))
            for label, line, name in FRAME.findall(dump[-MAX_STDERR_BYTES:])
        ]

    def kill(self) -> None:
        """Kill the worker and all processes that it started. They may not be reaped yet when this returns."""
        if not self._is_killed:
            self._is_killed = True
            self._connection.close()
            self._stdout.close()
            self._stderr.close()
            self._process.kill()

    def end(self) -> str:
        """Kill the worker and all processes that it started; describe how it ended."""
        self.kill()
        if not self._is_awaited:
            self._is_awaited = True  # if waiting fails, the next call does not wait again
            self._exit_code = self._process.wait()
        return "was lost" if self._exit_code is None else describe_end(self._exit_code)


def _read(file: IO[bytes], start: int) -> bytes:
    """Return a worker's output from `start` on; empty if it cannot be read.

    The worker shares the open file, so it can set flags that make reading fail.
    """
    size = os.fstat(file.fileno()).st_size
    try:
        return os.pread(file.fileno(), max(size - start, 0), start)
    except OSError:  # possible only without seccomp
        return b""


def last_complaint(stderr: IO[bytes]) -> str:
    """Return the last line on stderr in parentheses, to append to a message; empty if there is none."""
    text = _read(stderr, 0)[-MAX_STDERR_BYTES:].decode("utf-8", "replace")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return f" ({cut(lines[-1], MAX_MESSAGE)})" if lines else ""


def output_files() -> tuple[IO[bytes], IO[bytes]]:
    """Open files for a worker's stdout and stderr."""
    return tempfile.TemporaryFile(), tempfile.TemporaryFile()


KILLED = (-signal.SIGKILL, -signal.SIGTERM)
"""Exit codes with a cause outside the kit: the kit has not killed the worker yet when it compares them, and seccomp
keeps a submission from doing it."""


def describe_end(exit_code: int) -> str:
    """Describe how a process ended."""
    if exit_code >= 0:
        return f"ended the process with exit code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    return {"SIGSEGV": "crashed the interpreter (segmentation fault)", "SIGKILL": "was killed"}.get(
        name, f"was ended by {name}"
    )


def protections(isolation: Isolation) -> dict[str, bool]:
    """Return whether each protection holds, by name."""
    return {name: holds for name, holds in structs.asdict(isolation).items() if isinstance(holds, bool)}


def require_closed(isolation: Isolation) -> None:
    """Raise `OpenHostError` if a submission could reach files or the network."""
    if not isolation.filesystem:
        raise OpenHostError(
            "submissions could reach the file system of this host, so strict grading refuses to run; enable Landlock "
            "(Linux 5.13 or newer) and run `pip install py-landlock`"
        )
    if not isolation.network:
        raise OpenHostError(
            "submissions could reach the network of this host, so strict grading refuses to run; install seccomp "
            "(the system's libseccomp2 and `pip install pyseccomp`) or enable network namespaces"
        )


class WorkerSource(Protocol):
    """Starts workers, by forking or by spawning them."""

    def start_ahead(self, limits: Limits) -> None:
        """Start to make a worker for the next `start`."""

    def start(self, limits: Limits) -> Worker:
        """Return a new worker with these limits; raise `KitError` if none can be made."""

    def settle(self) -> None:
        """Wait until killed workers are gone."""

    def is_alive(self) -> bool:
        """Return whether it can still start workers."""

    def close(self) -> None:
        """End all workers."""


def start_confined(source: WorkerSource, limits: Limits, *, strict: bool = False) -> tuple[Worker, Isolation]:
    """Return a new worker and its protections, once it is confined.

    Raises `KitError` if it cannot be confined. If `strict`, raises `OpenHostError` if a submission could reach files or
    the network.
    """
    worker = source.start(limits)
    try:
        isolation = worker.wait_until_confined()
        if strict:
            require_closed(isolation)
    except BaseException:
        worker.kill()
        raise
    return worker, isolation


def sources_of(submission: Submission) -> list[Source]:
    """Return a submission's text in the form in which a worker gets it."""
    return [Source(label=chunk.label, text=chunk.text) for chunk in submission.chunks]
