"""Workers as the examiner holds them: a connection, a deadline, and a way to end them."""

import os
import re
import signal
import socket
import tempfile
import time
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from msgspec import structs

from grader.errors import KitError, OpenHostError
from grader.processes.deadlines import CONFINE_SECONDS, GRACE_SECONDS, PARSE_SECONDS, Processor
from grader.sandbox.protocol import (
    Isolation,
    Parse,
    Parsed,
    Reply,
    Request,
    Source,
    receive_reply,
    send,
)
from grader.sandbox.text import cut
from grader.sandbox.wire import ClosedError, MalformedError
from grader.spec.exercise import Limits
from grader.submission import Submission


class DiedError(Exception):
    """The worker is gone; the message says how it ended."""


class KilledError(DiedError):
    """It was killed, and not by the kit: the machine ran out of memory, or somebody ended it."""


class KilledUnconfinedError(KitError):
    """It was killed, and not by the kit, before it could confine itself: no submission had run in it."""


class StackFrame(NamedTuple):
    """A frame of a worker's main thread: a line of a source, and the function that it lies in."""

    label: str
    line: int
    function: str


MOST_TOLD_BYTES = 10_000
MOST_TOLD = 300
FRAME = re.compile(rb'^  File "([^"\n]{1,500})", line (\d{1,9}) in ([\w<>]{1,100})$', re.MULTILINE)
"""A line of `faulthandler`'s, the innermost frame first."""


class Process(Protocol):
    """A worker's process, with everything that it started."""

    def number(self) -> int:
        """Its process id, as this process counts."""

    def ask_where(self) -> None:
        """Have it write to stderr where it is."""

    def has_ended(self, seconds: float) -> bool:
        """Whether it ends within so many seconds."""

    def kill(self) -> None:
        """Kill it; what is left is cleared away sooner or later."""

    def wait(self) -> int:
        """Its exit code, or its signal's number below zero, once nothing is left of it."""


class Worker:
    """A running worker. `request` never blocks past its deadline; `kill` and `end` leave no process behind."""

    def __init__(self, connection: socket.socket, stdout: IO[bytes], stderr: IO[bytes], process: Process) -> None:
        self._connection = connection
        self._stdout, self._stderr = stdout, stderr
        self._process = process
        self._printed = b""
        self._is_killed = False
        self._ended = ""

    def wait_until_confined(self) -> Isolation:
        """Which protections hold around it; `KitError` when it does not get so far, for no submission has run yet."""
        try:
            reply = receive_reply(self._connection, time.monotonic() + CONFINE_SECONDS)
        except (ClosedError, TimeoutError, MalformedError) as error:
            ended_by_itself = isinstance(error, ClosedError) and self._process.has_ended(GRACE_SECONDS)
            why = last_complaint(self._stderr)
            how = self.end()
            kind = KilledUnconfinedError if ended_by_itself and how in KILLED else KitError
            raise kind(f"a worker could not be confined: it {how}{why}") from error
        assert isinstance(reply, Isolation)
        return reply

    def request(self, message: Request, deadline: float) -> Reply:
        """The worker's reply; `TimeoutError` past the deadline (`time.monotonic`), `DiedError` or `MalformedError`."""
        try:
            self._connection.settimeout(max(deadline - time.monotonic(), 0.001))
            send(self._connection, message)
            return receive_reply(self._connection, deadline)
        except ClosedError as error:
            ended_by_itself = self._process.has_ended(GRACE_SECONDS)
            how = self.end()
            raise KilledError(how) if ended_by_itself and how in KILLED else DiedError(how) from error

    def printed(self) -> bytes:
        """What has come to stdout since this was last asked."""
        before, self._printed = self._printed, _read(self._stdout, 0)
        is_added = self._printed.startswith(before)
        return self._printed.removeprefix(before) if is_added else self._printed  # what was written over is new

    def processor(self) -> Processor:
        """How much of a processor it has had; nothing where the system does not say."""
        try:
            folder = Path(f"/proc/{self._process.number()}")
            waited = int((folder / "schedstat").read_text(encoding="ascii").split()[1])
            times = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[11:13]
        except (OSError, ValueError, IndexError):
            return Processor(0.0, 0.0)
        return Processor(sum(map(int, times)) / os.sysconf("SC_CLK_TCK"), waited / 1e9)

    def where(self) -> list[StackFrame]:
        """Its main thread's frames, the innermost first; none where it does not say. It may lie."""
        before = os.fstat(self._stderr.fileno()).st_size
        self._process.ask_where()
        until = time.monotonic() + GRACE_SECONDS
        told = b""
        while time.monotonic() < until and not (told.endswith(b"\n") and told == _read(self._stderr, before)):
            told = _read(self._stderr, before)
            time.sleep(0.005)
        frames = FRAME.findall(told[-MOST_TOLD_BYTES:])
        return [
            StackFrame(label.decode("ascii", "replace"), int(line), name.decode("ascii", "replace"))
            for label, line, name in frames
        ]

    def kill(self) -> None:
        """Kill the worker and everything it started; what is left of it is cleared away while nobody waits."""
        if not self._is_killed:
            self._is_killed = True
            self._connection.close()
            self._stdout.close()
            self._stderr.close()
            self._process.kill()

    def end(self) -> str:
        """Kill the worker and everything it started; the way it ended, in words."""
        self.kill()
        if not self._ended:
            self._ended = "was lost"  # if what follows does not come to its end, it is not tried again
            self._ended = describe_end(self._process.wait())
        return self._ended


def _read(file: IO[bytes], start: int) -> bytes:
    """What a worker has written from there on; nothing where it has set flags on the file, which it shares."""
    size = os.fstat(file.fileno()).st_size
    try:
        return os.pread(file.fileno(), max(size - start, 0), start)
    except OSError:  # where seccomp is missing
        return b""


def last_complaint(stderr: IO[bytes]) -> str:
    """The last line that a process has written there, to be put behind how it ended; empty where there is none."""
    lines = _read(stderr, 0)[-MOST_TOLD_BYTES:].decode("utf-8", "replace").split("\n")
    told = [line.strip() for line in lines if line.strip()]
    return f" ({cut(told[-1], MOST_TOLD)})" if told else ""


def output_files() -> tuple[IO[bytes], IO[bytes]]:
    """Where a worker writes; closed when it ends."""
    return tempfile.TemporaryFile(), tempfile.TemporaryFile()


KILLED = ("was killed", "was ended by SIGTERM")
"""What neither the kit does before it looks nor, where system calls are filtered, the submission to itself."""


def describe_end(exit_code: int) -> str:
    """How a process ended, in words."""
    if exit_code >= 0:
        return f"ended the process with exit code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    return {"SIGSEGV": "crashed the interpreter (segmentation fault)", "SIGKILL": KILLED[0]}.get(
        name, f"was ended by {name}"
    )


def protections(isolation: Isolation) -> dict[str, bool]:
    """Whether each protection holds, by name."""
    return {name: holds for name, holds in structs.asdict(isolation).items() if isinstance(holds, bool)}


def require_closed(isolation: Isolation) -> None:
    """Raise `OpenHostError` where a submission could reach files or the network."""
    if not isolation.filesystem:
        raise OpenHostError(
            "the file system is open to submissions here, and strict grading refuses that; to close it takes Landlock "
            "(Linux 5.13 or newer, switched on) and `pip install py-landlock`"
        )
    if not isolation.network:
        raise OpenHostError(
            "the network is open to submissions here, and strict grading refuses that; to close it takes seccomp "
            "(the system's libseccomp2 and `pip install pyseccomp`) or network namespaces"
        )


class WorkerSource(Protocol):
    """Where workers come from."""

    def start_ahead(self, limits: Limits) -> None: ...

    def start(self, limits: Limits) -> Worker: ...

    def settle(self) -> None: ...

    def close(self) -> None: ...


class Fingerprinter:
    """One worker that parses many submissions and executes none, so that none has a say in what it answers."""

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
            reply = self._worker.request(Parse(chunks), time.monotonic() + PARSE_SECONDS)
        except (DiedError, MalformedError, TimeoutError):
            self.close()  # a tree too deep ends its parser; the next submission gets a new one
            return ""
        return reply.fingerprint if isinstance(reply, Parsed) else ""

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None
