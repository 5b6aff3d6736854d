"""Spawned workers: each is a new interpreter that connects back on loopback and sends a token."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from typing import IO

from grader.errors import KitError
from grader.processes.deadlines import SPAWN_SECONDS
from grader.processes.workers import Worker, describe_end, last_complaint, output_files
from grader.spec.exercise import Limits
from grader.spec.paths import PACKAGE

SPAWN_PAUSE = 0.5
"""Seconds between checks that a worker which has not connected yet is still alive."""

TOKEN_BYTES = 32


class Spawner:
    """Starts each worker as a new interpreter."""

    def __init__(self, secret_folders: tuple[str, ...] = ()) -> None:
        self._secret_folders = secret_folders

    def start_ahead(self, limits: Limits) -> None:
        """Do nothing: spawned workers are not started ahead."""

    def start(self, limits: Limits) -> Worker:
        """Return a new worker. This takes as long as importing torch."""
        stdout, stderr = output_files()
        token = secrets.token_bytes(TOKEN_BYTES)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            sizes = (listener.getsockname()[1], limits.output_bytes, limits.memory_mb << 20)
            process = subprocess.Popen(
                [sys.executable, "-m", "grader.sandbox", *map(str, sizes), *self._secret_folders],
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                cwd=PACKAGE.parent,  # never import from the current folder: it may be a student's
            )
            try:
                assert process.stdin is not None
                with contextlib.suppress(BrokenPipeError), process.stdin:  # if it died, _accept reports it
                    process.stdin.write(token)
                connection = _accept(listener, token, process, stderr)
            except BaseException:
                _SpawnedProcess(process).kill()
                raise
        return Worker(connection, stdout, stderr, _SpawnedProcess(process))

    def settle(self) -> None:
        """Do nothing: `kill` already waits for the worker to end."""

    def is_alive(self) -> bool:
        """Return True: nothing is needed to spawn a worker."""
        return True

    def close(self) -> None:
        """Do nothing: no state is kept between workers."""


def _accept(
    listener: socket.socket, token: bytes, process: "subprocess.Popen[bytes]", stderr: IO[bytes]
) -> socket.socket:
    """Return the connection that sends the token; close any other."""
    deadline = time.monotonic() + SPAWN_SECONDS
    listener.settimeout(SPAWN_PAUSE)
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise KitError(f"a worker did not start: it {describe_end(process.returncode)}{last_complaint(stderr)}")
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        connection.settimeout(SPAWN_PAUSE)
        with contextlib.suppress(OSError):  # another client may disconnect at any point
            if secrets.compare_digest(connection.recv(TOKEN_BYTES, socket.MSG_WAITALL), token):
                return connection
        connection.close()
    raise KitError(f"a worker did not start within {SPAWN_SECONDS:.0f} s")


class _SpawnedProcess:
    """A worker in its own interpreter, with the processes it forked that stayed in its session."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def number(self) -> int:
        return self._process.pid

    def dump_stack(self) -> None:
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
        self._process.wait()  # reap it

    def wait(self) -> int:
        return self._process.wait()
