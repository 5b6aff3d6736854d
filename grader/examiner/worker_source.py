"""Where workers come from, chosen in one place: forked by the nursery where that is safe, else spawned."""

import collections
import contextlib
import os
import select
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from grader.course.records import Limits
from grader.errors import KitError, LostNurseryError
from grader.examiner.spawner import Spawner
from grader.examiner.workers import Worker, WorkerSource, last_complaint, output_files
from grader.worker.layers import PR_SET_DUMPABLE
from grader.worker.nursery import ANSWER, FORK, ORDER, REAP, run_nursery
from grader.worker.sandbox import control_process
from grader.worker.torch_import import import_torch

CAN_FORK = sys.platform == "linux"
"""Forking a process that holds torch is safe on Linux; macOS's system libraries forbid it, Windows cannot."""

ANSWER_SECONDS = 60.0
"""How long the nursery may take to answer, on a slow machine."""

END_SECONDS = 5.0
"""How long the nursery may take to end once nobody wants anything of it."""

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
        self._control.settimeout(ANSWER_SECONDS)
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the nursery
        sys.stdout.flush()
        sys.stderr.flush()
        signals = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the nursery ignores it
        try:
            self._process = _fork()
            if self._process == 0:
                os.dup2(self._stderr.fileno(), 2)
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
        stdout, stderr = output_files()
        with theirs:
            order = ORDER.pack(FORK, 0, limits.output_bytes, limits.memory_mb << 20)
            with self._alive():
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
        """End the nursery, with all its workers; it is killed where it does not end."""
        if self._ordered is not None:
            self._cancel()
        self._control.close()
        self._stderr.close()
        handle = os.pidfd_open(self._process)
        if not select.select([handle], [], [], END_SECONDS)[0]:
            os.kill(self._process, signal.SIGKILL)  # its first child, and with that all others, dies with it
        os.close(handle)
        os.waitpid(self._process, 0)

    def reap(self, process: int) -> "_Asked":
        """Have a worker that was killed cleared away, and what it started."""
        with self._alive():
            self._control.sendall(ORDER.pack(REAP, process, 0, 0))
        reaped = _Asked()
        self._asked.append(reaped)
        return reaped

    def listen_for(self, wanted: "_Asked") -> None:
        """Take in answers, which come in the order of the questions, until this one has come."""
        while not wanted.has_come:
            asked = self._asked.popleft()
            with self._alive():
                answer, asked.handles, _, _ = socket.recv_fds(self._control, ANSWER.size, 1)
                (asked.answer,) = ANSWER.unpack(answer)
            asked.has_come = True

    @contextlib.contextmanager
    def _alive(self) -> Iterator[None]:
        """Turns what a dead nursery makes of a message, a closed socket or a cut answer, into `LostNurseryError`."""
        try:
            yield
        except (OSError, struct.error) as error:
            why = last_complaint(self._stderr)
            told = f"the process that starts workers has died or hangs{why}; run the command again"
            raise LostNurseryError(told) from error

    def _cancel(self) -> None:
        assert self._ordered is not None
        forked, self._ordered = self._ordered, None
        forked.worker().kill()


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
