"""Sources of workers: forked by the nursery where that is safe, otherwise spawned."""

import collections
import contextlib
import os
import select
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from grader.errors import KitError, LostNurseryError
from grader.processes.deadlines import NURSERY_ANSWER_SECONDS, NURSERY_END_SECONDS
from grader.processes.spawner import Spawner
from grader.processes.workers import Worker, WorkerSource, last_complaint, output_files
from grader.sandbox import wire
from grader.sandbox.layers import PR_SET_DUMPABLE
from grader.sandbox.nursery import ForkRequest, ReapRequest, decode_answer, encode_request, run_nursery
from grader.sandbox.sandbox import control_process
from grader.sandbox.torch_import import import_torch
from grader.sandbox.wire import ClosedError, MalformedError
from grader.spec.exercise import Limits
from grader.spec.loading import loaded_exercises

CAN_FORK = sys.platform == "linux"
"""Forking after importing torch is safe on Linux, unsafe on macOS and not available on Windows."""

TOO_FEW_PROCESSES = (
    "no process can be started for a submission: this user or machine is limited to too few processes and threads; "
    "raise the limit (ulimit -u, or the container's pids limit) or end other programs"
)


def open_worker_source(
    secret_folders: tuple[str, ...] = (),
    *,
    spawn: bool = not CAN_FORK,
    for_many: bool = False,
    for_tests: bool = False,
) -> WorkerSource:
    """Open a source of workers.

    Unless `spawn` is true, workers are copies of this process. Call this before loading any description, reference or
    check; `KitError` is raised if a description with fixes has been loaded.

    Import torch, and keep other processes from reading this one's memory. With `for_many`, opening takes a little
    longer and each worker starts faster. With `for_tests`, the same holds for workers that run a trap's tests. Each
    worker tries to read the secret folders and reports any success. The caller closes the source.
    """
    import_torch(for_many=for_many)
    control_process(PR_SET_DUMPABLE, 0)
    return Spawner(secret_folders) if spawn else Forker(secret_folders, for_tests=for_tests)


def has_threads() -> bool:
    """Return whether this process has started threads: torch hangs in a fork of such a process."""
    tasks = Path("/proc/self/task")
    return tasks.is_dir() and len(list(tasks.iterdir())) != 1


class Forker:
    """Starts each worker as a fork of the nursery, which the constructor forks from this process.

    Construct it before opening any description, check or reference. Several threads may start and kill workers.
    """

    def __init__(self, secret_folders: tuple[str, ...] = (), *, for_tests: bool = False) -> None:
        _require_no_fixes()
        if has_threads():
            raise KitError(
                "torch has started threads, so workers cannot be forked; unset OMP_NUM_THREADS and similar variables"
            )
        self._control, theirs = socket.socketpair()
        self._control.settimeout(NURSERY_ANSWER_SECONDS)
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the nursery
        sys.stdout.flush()
        sys.stderr.flush()
        signals = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the nursery ignores it
        try:
            self._process = _fork()
            if self._process == 0:
                os.dup2(self._stderr.fileno(), 2)
                run_nursery(theirs, secret_folders, for_tests=for_tests)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        theirs.close()
        self._handle = os.pidfd_open(self._process)
        self._lock = threading.RLock()
        self._ahead: _PendingWorker | None = None
        self._pending: collections.deque[_PendingRequest] = collections.deque()

    def start_ahead(self, limits: Limits) -> None:
        """Fork the next worker in the background."""
        with self._lock:
            if self._ahead is not None:
                return
            ours, theirs = socket.socketpair()
            stdout, stderr = output_files()
            with theirs:
                request = ForkRequest(output_bytes=limits.output_bytes, memory_bytes=limits.memory_mb << 20)
                descriptors = [theirs.fileno(), stdout.fileno(), stderr.fileno()]
                with self._alive():
                    wire.send(self._control, encode_request(request), descriptors)
            self._ahead = _PendingWorker(limits=limits, connection=ours, stdout=stdout, stderr=stderr)
            self._pending.append(self._ahead)

    def start(self, limits: Limits) -> Worker:
        """Return a new worker confined to the limits; raise `KitError` if none can be forked."""
        with self._lock:
            if self._ahead is not None and self._ahead.limits != limits:
                self._worker_ahead().kill()
            self.start_ahead(limits)
            return self._worker_ahead()

    def settle(self) -> None:
        """Wait until killed workers and their processes are gone."""
        if self._pending:
            self.wait_for(self._pending[-1])

    def is_alive(self) -> bool:
        """Return whether the nursery is running."""
        return not select.select([self._handle], [], [], 0)[0]

    def close(self) -> None:
        """End the nursery and all its workers; kill it if it does not end in time."""
        if self._ahead is not None:
            with contextlib.suppress(KitError):  # it has died, or could not fork
                self._worker_ahead().kill()
        self._control.close()
        self._stderr.close()
        if not select.select([self._handle], [], [], NURSERY_END_SECONDS)[0]:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(
                    self._handle, signal.SIGKILL
                )  # its first child dies with it, and so do all others
        os.close(self._handle)
        with contextlib.suppress(ChildProcessError):  # a warm process is a fork of the nursery's parent
            os.waitpid(self._process, 0)

    def reap(self, process: int) -> "_PendingRequest":
        """Reap a killed worker and the processes it started; the answer is its wait status."""
        reaped = _PendingRequest()
        with self._lock, self._alive():
            wire.send(self._control, encode_request(ReapRequest(process=process)))
            self._pending.append(reaped)
        return reaped

    def wait_for(self, wanted: "_PendingRequest") -> None:
        """Read answers, which arrive in the order of the requests, until this one arrives."""
        with self._lock:
            while not wanted.is_answered:
                pending = self._pending.popleft()
                with self._alive():
                    body, pending.handles = wire.receive_with_descriptors(self._control, 1)
                    pending.answer = decode_answer(body).number
                pending.is_answered = True

    def _worker_ahead(self) -> Worker:
        """Wait for the worker that was started ahead, and return it; raise `KitError` if it could not be forked."""
        assert self._ahead is not None
        pending, self._ahead = self._ahead, None
        self.wait_for(pending)
        if pending.answer < 0:
            raise KitError(TOO_FEW_PROCESSES)
        (handle,) = pending.handles
        process = _ForkedProcess(self, pending.answer, handle)
        return Worker(pending.connection, pending.stdout, pending.stderr, process)

    @contextlib.contextmanager
    def _alive(self) -> Iterator[None]:
        """Raise `LostNurseryError` if the nursery dies or hangs while the block sends or receives."""
        try:
            yield
        except (TimeoutError, ClosedError, MalformedError, msgspec.MsgspecError) as error:
            why = last_complaint(self._stderr)
            message = f"the process that starts workers has died or hangs{why}; run the command again"
            raise LostNurseryError(message) from error


def _require_no_fixes() -> None:
    """Raise `KitError` if forked workers could read fixes in their copy of this process's memory."""
    for exercise in loaded_exercises():
        if exercise.edition.HAS_REFERENCE:
            raise KitError(f"this process has loaded {exercise.id}, so workers that it forks could read its fixes")


def _fork() -> int:
    try:
        return os.fork()
    except OSError as error:
        raise KitError(TOO_FEW_PROCESSES) from error


@dataclass(kw_only=True)
class _PendingRequest:
    """A request to the nursery, and its answer once it has arrived."""

    answer: int = 0
    handles: list[int] = field(default_factory=list)
    is_answered: bool = False


@dataclass(kw_only=True)
class _PendingWorker(_PendingRequest):
    """A request for a worker. The answer is its process id, sent with a process descriptor."""

    limits: Limits
    connection: socket.socket
    stdout: IO[bytes]
    stderr: IO[bytes]


class _ForkedProcess:
    """A worker's process, a child of the nursery: killed by its descriptor, and reaped by the nursery."""

    def __init__(self, forker: Forker, process: int, handle: int) -> None:
        self._forker = forker
        self._process = process
        self._handle = handle
        self._reaped: _PendingRequest | None = None

    def number(self) -> int:
        with open(f"/proc/self/fdinfo/{self._handle}", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pid:"))

    def dump_stack(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGUSR1)

    def has_ended(self, seconds: float) -> bool:
        return bool(select.select([self._handle], [], [], seconds)[0])

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        os.close(self._handle)
        self._reaped = self._forker.reap(self._process)

    def wait(self) -> int:
        assert self._reaped is not None
        self._forker.wait_for(self._reaped)
        return os.waitstatus_to_exitcode(self._reaped.answer)
