"""Drive `python -m grader watch` as a person does: in a terminal, with real files and real keys."""

import os
import pty
import re
import shutil
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path
from typing import Self

from tests.support.paths import ROOT

VERDICT = re.compile(r"attention\.(?:py|ipynb) · \d\d:\d\d:\d\d")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
PATIENCE = 60.0
"""Seconds to wait for an event; on an idle machine it takes a fraction of a second."""


class Watch:
    """A watch that runs in a terminal. `new` is its output since the last call of `forget`."""

    def __init__(self, course: Path, *arguments: str, columns: int = 200, kit: Path = ROOT) -> None:
        self.course = course
        self._ours, self.terminal = pty.openpty()
        self.settings = termios.tcgetattr(self.terminal)
        self._written = ""
        self._mark = 0
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "grader", "watch", *arguments],
            cwd=course,
            stdin=self.terminal,
            stdout=self.terminal,
            stderr=self.terminal,
            env=os.environ | {"COLUMNS": str(columns), "PYTHONPATH": str(kit), "TERM": "xterm"},
            preexec_fn=own_terminal,  # noqa: PLW1509 - before any thread of the test could matter
        )
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)

    @property
    def new(self) -> str:
        with self._changed:
            return COLOURS.sub("", self._written[self._mark :])

    def forget(self) -> None:
        """Discard the output until now."""
        with self._changed:
            self._mark = len(self._written)

    def wait_for(self, pattern: str, seconds: float = PATIENCE) -> str:
        """Return the new output once it contains the pattern."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while not re.search(pattern, COLOURS.sub("", self._written[self._mark :]), re.DOTALL):
                left = deadline - time.monotonic()
                assert left > 0, f"no {pattern!r} within {seconds} s in:\n{self._written[self._mark :]}"
                self._changed.wait(left)
        return self.new

    def verdict(self, seconds: float = PATIENCE) -> str:
        """Return the new output once it contains a whole verdict."""
        return self.wait_for(VERDICT.pattern + r".*(points|Public checks only)\b.* · .*h hint", seconds)

    def verdicts(self) -> int:
        return len(VERDICT.findall(self.new))

    def press(self, key: str) -> None:
        self.forget()
        os.write(self._ours, key.encode())

    def is_restored(self) -> bool:
        """Return whether the terminal has its original settings."""
        return termios.tcgetattr(self.terminal) == self.settings

    def _read(self) -> None:
        while True:
            try:
                read = os.read(self._ours, 65536)
            except OSError:
                read = b""
            if not read:
                os.close(self._ours)
                return
            with self._changed:
                self._written += read.decode("utf-8", "replace")
                self._changed.notify_all()


def small_course(folder: Path, *exercises: str) -> Path:
    """Copy the course with only these exercises, as handed out and never graded."""
    for exercise in exercises:
        for part in ("exercises", "solutions", "tests/hidden"):
            if (ROOT / part / exercise).is_dir():
                shutil.copytree(ROOT / part / exercise, folder / part / exercise)
        home = folder / "exercises" / exercise
        for pristine in (home / ".starter").iterdir():
            shutil.copy(pristine, home / pristine.name)
    if (ROOT / ".grader/proven").is_dir():
        shutil.copytree(ROOT / ".grader/proven", folder / ".grader/proven")
    return folder


def examiners_of(parent: int) -> list[int]:
    """Return the examiner processes that a process started."""
    children = Path(f"/proc/{parent}/task").glob("*/children")
    found = []
    for child in {int(each) for path in children for each in path.read_text().split()}:
        try:
            if b"grader.verdict.service" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(child)
        except OSError:
            continue
    return found


def own_terminal() -> None:
    """Make the standard input of a new process its controlling terminal, so that Ctrl-C and a hangup reach it."""
    os.setsid()
    os.close(os.open(os.ttyname(0), os.O_RDWR))
    import fcntl

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
