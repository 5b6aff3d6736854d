"""Where workers come from, chosen in one place: forked by the nursery where that is safe, else spawned."""

import collections
import contextlib
import os
import secrets
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from grader.course.records import Limits
from grader.errors import KitError, LostNurseryError
from grader.examiner.workers import Worker, WorkerSource, describe_end
from grader.worker.layers import PR_SET_DUMPABLE
from grader.worker.nursery import ANSWER, FORK, ORDER, REAP, run_nursery
from grader.worker.sandbox import control_process
from grader.worker.torch_import import import_torch

CAN_FORK = sys.platform == "linux"
"""Forking a process that holds torch is safe on Linux; macOS's system libraries forbid it, Windows cannot."""

SPAWN_SECONDS = 60.0
"""How long a spawned worker may take to import torch, or the nursery to answer, on a slow machine."""

SPAWN_PAUSE = 0.5
"""How often a spawned worker that has not come yet is asked whether it still lives."""

TOKEN_BYTES = 32

TOO_FEW_PROCESSES = (
    "no process can be started for a submission: this user or machine is limited to too few processes and threads; "
    "raise the limit (ulimit -u, or the container's pids limit) or end what else is running"
)


def open_worker_source(
    secret_folders: tuple[str, ...] = (), *, spawn: bool = not CAN_FORK, for_many: bool = False
) -> WorkerSource:
    """A source of workers, to be closed: opened before any description, reference or check is, for workers are copies.

    Imports torch, and keeps other processes from reading this one's memory. `for_many` workers it takes a little longer
    to open, and less for each. Each worker tries to read the secret folders, and says so where it can.
    """
    import_torch(for_many=for_many)
    control_process(PR_SET_DUMPABLE, 0)
    return Spawner(secret_folders) if spawn else Nursery(secret_folders)


class Nursery:
    """Forks workers from a process that holds torch and no secret. Make it before opening any check or reference."""

    def __init__(self, secret_folders: tuple[str, ...] = ()) -> None:
        _require_single_thread()
        self._control, theirs = socket.socketpair()
        self._control.settimeout(SPAWN_SECONDS)
        sys.stdout.flush()
        sys.stderr.flush()
        signals = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the nursery ignores it
        try:
            self._process = _fork()
            if self._process == 0:
                run_nursery(theirs, secret_folders)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        theirs.close()
        self._ordered: _Forked | None = None
        self._asked: collections.deque[_Asked] = collections.deque()

    def order(self, limits: Limits) -> None:
        """Have the next worker forked while the caller does something else."""
        if self._ordered is not None:
            return
        ours, theirs = socket.socketpair()
        stdout, stderr = _output_files()
        with theirs:
            order = ORDER.pack(FORK, 0, limits.output_bytes, limits.memory_mb << 20)
            with _nursery_alive():
                socket.send_fds(self._control, [order], [theirs.fileno(), stdout.fileno(), stderr.fileno()])
        self._ordered = _Forked(self, limits, ours, stdout, stderr)
        self._asked.append(self._ordered)

    def start(self, limits: Limits) -> Worker:
        """A fresh worker, confined to the limits."""
        if self._ordered is not None and self._ordered.limits != limits:
            self._cancel()
        self.order(limits)
        forked, self._ordered = self._ordered, None
        assert forked is not None
        return forked.worker()

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
        forked.worker().kill()


def _output_files() -> tuple[IO[bytes], IO[bytes]]:
    """Where a worker writes; closed when it ends."""
    return tempfile.TemporaryFile(), tempfile.TemporaryFile()


def _fork() -> int:
    try:
        return os.fork()
    except OSError as error:
        raise KitError(TOO_FEW_PROCESSES) from error


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
        raise LostNurseryError("the process that starts workers has died or hangs; run the command again") from error


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
    stderr: IO[bytes]
    reaped: _Asked | None = None

    def worker(self) -> Worker:
        """The worker, once it has been forked; `KitError` where it cannot be."""
        self.nursery.listen_for(self)
        if self.answer < 0:
            raise KitError(TOO_FEW_PROCESSES)
        return Worker(self.connection, self.stdout, self.stderr, self)

    def number(self) -> int:
        with open(f"/proc/self/fdinfo/{self.handles[0]}", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pid:"))

    def ask_where(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handles[0], signal.SIGUSR1)

    def has_ended(self, seconds: float) -> bool:
        return bool(select.select(self.handles, [], [], seconds)[0])

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


class Spawner:
    """Starts each worker as a new interpreter."""

    def __init__(self, secret_folders: tuple[str, ...] = ()) -> None:
        self._secret_folders = secret_folders

    def order(self, limits: Limits) -> None:
        """Nothing is started ahead."""

    def start(self, limits: Limits) -> Worker:
        """A fresh worker; it takes as long as importing torch does."""
        stdout, stderr = _output_files()
        token = secrets.token_bytes(TOKEN_BYTES)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            sizes = (listener.getsockname()[1], limits.output_bytes, limits.memory_mb << 20)
            process = subprocess.Popen(
                [sys.executable, "-m", "grader.worker", *map(str, sizes), *self._secret_folders],
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                cwd=Path(__file__).parents[2],  # from the current folder, which may be a student's, nothing is imported
            )
            try:
                assert process.stdin is not None
                with contextlib.suppress(BrokenPipeError), process.stdin:  # it may have died, as is found out below
                    process.stdin.write(token)
                connection = _accept(listener, token, process)
            except BaseException:
                _Spawned(process).kill()
                raise
        return Worker(connection, stdout, stderr, _Spawned(process))

    def settle(self) -> None:
        """Nothing is left of workers that were killed."""

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
        except TimeoutError:
            continue
        connection.settimeout(SPAWN_PAUSE)
        with contextlib.suppress(OSError):  # whoever else has come may go again in any way
            if secrets.compare_digest(connection.recv(TOKEN_BYTES, socket.MSG_WAITALL), token):
                return connection
        connection.close()
    raise KitError(f"a worker did not start within {SPAWN_SECONDS:.0f} s")


class _Spawned:
    """A worker of its own interpreter, and what it forked as far as that stayed in its session."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def number(self) -> int:
        return self._process.pid

    def ask_where(self) -> None:
        if os.name == "posix":
            self._process.send_signal(signal.SIGUSR1)

    def has_ended(self, seconds: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode is not None

    def kill(self) -> None:
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()  # nobody else would

    def wait(self) -> int:
        return self._process.wait()
