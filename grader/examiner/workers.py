"""Workers as the examiner holds them: a connection, a deadline, and a way to end them."""

import contextlib
import os
import secrets
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Protocol

from grader.errors import KitError, LostNurseryError
from grader.exercise import Limits
from grader.worker.confinement import PR_SET_DUMPABLE, control_process
from grader.worker.nursery import ANSWER, COLLECT, FORK, ORDER, run_nursery
from grader.worker.protocol import ClosedError, Isolation, MalformedError, Reply, Request, receive_reply, send

CONFINE_SECONDS = 30.0
"""How long entering all layers may take on a machine that is busy with other things; it takes about 10 ms."""

SPAWN_SECONDS = 60.0
"""How long a spawned worker may take to import torch on a slow machine."""

SPAWN_PAUSE = 0.5
"""How often a spawned worker that has not come yet is asked whether it still lives."""


TOKEN_BYTES = 32


class DiedError(Exception):
    """The worker is gone; the message says how it ended."""


class Worker:
    """A running worker. `request` never blocks past its deadline; `end` leaves no process behind."""

    def __init__(self, connection: socket.socket, stdout: IO[bytes], end: Callable[[], str]) -> None:
        self._connection = connection
        self._stdout = stdout
        self._end = end
        self._read_to = 0
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

    def end(self) -> str:
        """Kill the worker and everything it started, once; the way it ended, in words."""
        if not self._ended:
            self._ended = "was lost"  # if what follows does not come to its end, it is not tried again
            self._connection.close()
            self._ended = self._end()
            self._stdout.close()
        return self._ended


class WorkerSource(Protocol):
    """Where workers come from."""

    def order(self, limits: Limits) -> None: ...

    def start(self, limits: Limits) -> Worker: ...

    def close(self) -> None: ...


class Nursery:
    """Forks workers from a process that holds torch and no secret. Make it before opening any check or reference."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        self._process = os.fork()
        if self._process == 0:
            run_nursery(theirs)
        theirs.close()
        self._ordered: _Order | None = None

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
        self._ordered = _Order(limits, ours, stdout)

    def start(self, limits: Limits) -> Worker:
        """A fresh worker, confined to the limits."""
        if self._ordered is not None and self._ordered.limits != limits:
            self._cancel()
        self.order(limits)
        order = self._received()
        self._ordered = None
        return Worker(order.connection, order.stdout, lambda: self._end(order.process, order.handle))

    def close(self) -> None:
        """End the nursery, with all its workers, and wait for it."""
        if self._ordered is not None:
            self._cancel()
        self._control.close()
        os.waitpid(self._process, 0)

    def _received(self) -> "_Order":
        """The order that is under way, once the nursery has said which process it is."""
        order = self._ordered
        assert order is not None
        if not order.process:
            with _nursery_alive():
                answer, handles, _, _ = socket.recv_fds(self._control, ANSWER.size, 1)
                (order.process,) = ANSWER.unpack(answer)
            (order.handle,) = handles
        return order

    def _cancel(self) -> None:
        order = self._received()
        self._ordered = None
        order.connection.close()
        order.stdout.close()
        self._end(order.process, order.handle)

    def _end(self, process: int, handle: int) -> str:
        if self._ordered is not None:
            self._received()  # answers come in the order of the questions
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended by itself
        os.close(handle)
        with _nursery_alive():
            self._control.sendall(ORDER.pack(COLLECT, process, 0, 0))
            (status,) = ANSWER.unpack(self._control.recv(ANSWER.size, socket.MSG_WAITALL))
        return describe_end(os.waitstatus_to_exitcode(status))


@contextlib.contextmanager
def _nursery_alive() -> Iterator[None]:
    """Turns what a dead nursery makes of a message, a closed socket or an answer cut short, into `LostNurseryError`."""
    try:
        yield
    except (OSError, struct.error) as error:
        raise LostNurseryError("the process that starts workers has died; run the command again") from error


@dataclass
class _Order:
    """A worker that has been asked for; its process and the descriptor for it come with the nursery's answer."""

    limits: Limits
    connection: socket.socket
    stdout: IO[bytes]
    process: int = 0
    handle: int = -1


class Spawner:
    """Starts each worker as a new interpreter: for systems that cannot fork, or not safely."""

    def order(self, limits: Limits) -> None:
        """Nothing is started ahead."""

    def start(self, limits: Limits) -> Worker:
        """A fresh worker; it takes as long as importing torch does."""
        stdout = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the worker ends
        token = secrets.token_bytes(TOKEN_BYTES)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            sizes = (listener.getsockname()[1], limits.output_bytes, limits.memory_mb << 20)
            process = subprocess.Popen(
                [sys.executable, "-m", "grader.worker", *map(str, sizes)],
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError), process.stdin:  # it may have died, as is found out below
                process.stdin.write(token)
            connection = _accept(listener, token, process)
        return Worker(connection, stdout, lambda: _end_spawned(process))

    def close(self) -> None:
        """Nothing is kept between workers."""


def _accept(listener: socket.socket, token: bytes, process: "subprocess.Popen[bytes]") -> socket.socket:
    """The connection of the process, which shows the token; others are turned away."""
    deadline = time.monotonic() + SPAWN_SECONDS
    listener.settimeout(SPAWN_PAUSE)
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise KitError(f"a worker did not start: it {describe_end(process.returncode)}")
        try:
            connection, _ = listener.accept()
            connection.settimeout(SPAWN_PAUSE)
            shown = connection.recv(TOKEN_BYTES, socket.MSG_WAITALL)
        except TimeoutError:
            continue
        if secrets.compare_digest(shown, token):
            return connection
        connection.close()
    process.kill()
    raise KitError(f"a worker did not start within {SPAWN_SECONDS:.0f} s")


def _end_spawned(process: "subprocess.Popen[bytes]") -> str:
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)  # what it forked too, as far as it stayed in its session
    else:
        process.kill()
    return describe_end(process.wait())


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
