"""Workers started as new interpreters: for systems that cannot fork, or not safely."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time

from grader.course.records import Limits
from grader.errors import KitError
from grader.examiner.workers import Worker, describe_end

SPAWN_SECONDS = 60.0
"""How long a spawned worker may take to import torch on a slow machine."""

SPAWN_PAUSE = 0.5
"""How often a spawned worker that has not come yet is asked whether it still lives."""

TOKEN_BYTES = 32


class Spawner:
    """Starts each worker as a new interpreter."""

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
        return Worker(connection, stdout, _Spawned(process))

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
            connection.settimeout(SPAWN_PAUSE)
            shown = connection.recv(TOKEN_BYTES, socket.MSG_WAITALL)
        except TimeoutError:
            continue
        if secrets.compare_digest(shown, token):
            return connection
        connection.close()
    process.kill()
    raise KitError(f"a worker did not start within {SPAWN_SECONDS:.0f} s")


class _Spawned:
    """A worker of its own interpreter, and what it forked as far as that stayed in its session."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def kill(self) -> None:
        if os.name == "posix":
            os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()  # nobody else would

    def wait(self) -> int:
        return self._process.wait()
