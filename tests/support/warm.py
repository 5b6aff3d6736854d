"""A course with a warm process of its own, and what can happen to it."""

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.processes import warm_socket
from grader.processes.memory import memory_of
from grader.processes.warm_client import warm_path
from grader.processes.warm_server import MAX_MEMORY_BYTES, warm_processes
from grader.processes.warm_socket import RUN_REQUEST, CommandRequest, send_message
from tests.support.commands import run_fork
from tests.support.hostile import parent_of, relatives
from tests.support.paths import ROOT

GRADE = ("3", "--warm", "--json", "--seed", "7")
WAIT_SECONDS = 20.0


class WarmCourse:
    """A copy of two exercises, whose commands run in forks of this process with a socket folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "course"
        self.runtime = Path(tempfile.mkdtemp(prefix="w"))  # the path of a socket is short
        for part in ("exercises", "solutions", "tests/hidden"):
            for each in ("exercise_02", "exercise_03"):
                if (ROOT / part / each).is_dir():
                    shutil.copytree(ROOT / part / each, self.root / part / each)
        for each in ("proven", "meanings"):
            if (ROOT / ".grader" / each).is_dir():
                shutil.copytree(ROOT / ".grader" / each, self.root / ".grader" / each)
        self.file = self.root / "exercises/exercise_03/attention.py"
        self.folder = self.runtime / "grader"

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return run_fork(*arguments, cwd=self.root)

    def verdict(self, *arguments: object) -> dict[str, Any]:
        """Return the verdict without its times."""
        done = self.run(*(arguments or GRADE))
        assert done.returncode in (0, 1), done
        verdict = json.loads(done.stdout)
        del verdict["seconds"]
        for check in verdict["checks"]:
            del check["seconds"]
        return verdict

    def process(self) -> int | None:
        """Return the id of the warm process."""
        return next(iter(warm_processes().values()), None)

    def warmed(self) -> int:
        """Return the id of a warm process that uses little memory; grade if there is none.

        A fork of this process can use nearly as much memory as a warm process may use, so it is replaced.
        """
        end = time.monotonic() + WAIT_SECONDS
        while (process := self.process()) is None or memory_of(process) > MAX_MEMORY_BYTES // 2:
            assert time.monotonic() < end, "no process stays warm"
            if process is not None:
                kill(process)
            self._start()
            until(lambda: self.process() is not None, 1)
        return process

    def is_at_rest(self, process: int) -> bool:
        """Wait until a warm process has prepared the next verdict; while it does, a command may not wait for it."""

        def ticks() -> list[str]:
            return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]

        def is_quiet() -> bool:
            before = ticks()
            time.sleep(1)
            return ticks() == before

        return until(is_quiet)

    def _start(self) -> None:
        """Grade in a new interpreter."""
        flags = ["-B"] if sys.flags.dont_write_bytecode else []  # the socket's name depends on the flags
        command = [sys.executable, *flags, "-m", "grader", *GRADE]
        subprocess.run(command, cwd=self.root, capture_output=True, timeout=WAIT_SECONDS, check=False)

    def path(self) -> Path:
        with contextlib.chdir(self.root):
            path = warm_path([*GRADE])
        assert path is not None
        return Path(path)

    def connection(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(WAIT_SECONDS)
        connection.connect(str(self.path()))
        return connection

    def ask(self, *arguments: str, **changes: Any) -> socket.socket:
        """Send a request over a connection of its own, with the standard streams going nowhere."""
        given = {"folder": str(self.root), "environment": dict(os.environ), "umask": 0o077} | changes
        connection = self.connection()
        null = os.open(os.devnull, os.O_RDWR)
        send_message(connection, RUN_REQUEST, CommandRequest([*(arguments or GRADE)], **given).encode(), (null,) * 3)
        os.close(null)
        return connection

    def client(self, *arguments: object) -> "subprocess.Popen[str]":
        """Start a command in an interpreter of its own."""
        command = [sys.executable, "-m", "grader", *map(str, arguments or GRADE)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            command, cwd=self.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def nursery(self) -> int:
        """Return the id of the nursery. Its parent has ended, and so has the parent of the warm process."""
        warm = self.warmed()
        family = {warm, *relatives(warm)}
        return next(each for each in family - {warm} if parent_of(each) not in family)

    def start_afresh(self) -> None:
        """End the warm process and remove what lies in its folder, whatever that is.

        Repeat this while something is left: the last command's fork may write there before it listens.
        """
        end = time.monotonic() + WAIT_SECONDS
        while paths := [*self.runtime.iterdir()]:
            assert time.monotonic() < end, f"still there: {paths}"
            for process in warm_processes().values():
                kill(process)
            for path in paths:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)

    def end(self) -> None:
        """Leave nothing behind."""
        self.start_afresh()
        self.runtime.rmdir()


def kill(process: int, number: int = signal.SIGKILL) -> None:
    """Send a signal; after one that kills, wait until the process is gone."""
    handle = os.pidfd_open(process)
    signal.pidfd_send_signal(handle, number)
    if number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
        assert select.select([handle], [], [], WAIT_SECONDS)[0], "it does not end"
    os.close(handle)


def until(condition: Any, seconds: float = WAIT_SECONDS) -> bool:
    end = time.monotonic() + seconds
    while not (is_met := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return bool(is_met)


@contextlib.contextmanager
def impostor(path: Path, answers: bytes | None, then: bytes = b"") -> Iterator[None]:
    """Inside the block, another process listens at the path, and answers requests with these bytes, or not at all."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(5)
        process = os.fork()
        if process == 0:
            try:
                listener.settimeout(WAIT_SECONDS)
                connections = []
                while True:
                    connection, _ = listener.accept()
                    connections.append(connection)
                    if answers is not None:
                        connection.recv(warm_socket.MAX_MESSAGE_BYTES)
                        connection.sendall(answers)
                        connection.recv(100)
                        connection.sendall(then)
                        connection.close()
            finally:
                os._exit(0)
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
