"""The inputs of a watch: saved files, some of them half written, and single keys from the terminal."""

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from grader.spec.paths import Course
from grader.submission import Submission
from grader.submission.choice import Choice

STEP_MS = 5
"""How often watchfiles polls for events, in milliseconds. Measured: 6 ms from a save to its event, at 0.5 % of a core.
Its defaults are 50 ms, and up to 1600 ms for further events."""

MAX_STEPS = 10
"""While a program writes without a pause, an event comes every this many steps."""

FileStamps = tuple[tuple[int, ...], ...]
"""The `stat` results of an exercise's files. Two saves within one tick of the file system's clock can share one."""


class Saves:
    """Calls `on_save`, from another thread, whenever an exercise's file is written, moved or deleted.

    A system without such events (a network drive, too many watches) causes no call and no error. Therefore also poll
    `file_stamps`.
    """

    def __init__(self, course: Course, on_save: Callable[[], None]) -> None:
        self._folder = course.root / "exercises"
        self._on_save = on_save
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="saves", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        from watchfiles import watch

        try:
            for _ in watch(
                self._folder,
                watch_filter=lambda _, path: path.endswith((".py", ".ipynb")),
                debounce=STEP_MS * MAX_STEPS,
                step=STEP_MS,
                stop_event=self._stop,
                raise_interrupt=False,
            ):
                self._on_save()
        except (OSError, RuntimeError):
            return


def file_stamps(course: Course, exercise_id: str) -> FileStamps:
    """Return the `stat` results of the exercise's files."""
    return tuple(_status(path) for path in course.editable_files(exercise_id))


def _status(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode


COMPLETE_SHARE = 0.9
"""A file that shrank below this share of its length may be half written."""


def looks_cut_off(previous: Choice, current: Choice) -> bool:
    """Return whether the source lost much of its length or its final line break, as a half-written file does."""
    if not isinstance(previous.read, Submission) or not isinstance(current.read, Submission):
        return False
    if previous.path != current.path:
        return False
    whole, part = _text(previous.read), _text(current.read)
    return len(part) < COMPLETE_SHARE * len(whole) or (whole.endswith("\n") and not part.endswith("\n"))


def _text(submission: Submission) -> str:
    return "".join(chunk.text for chunk in submission.chunks)


if sys.platform != "win32":
    import termios
    import tty

END_OF_INPUT = "\x04"
"""The character for Ctrl-D; also passed to `on_key` when the terminal closes."""

ESCAPE = "\x1b"
MAX_AT_ONCE = 64


class Keys:
    """Calls `on_key` with each key, from another thread. If stdin is not our terminal, no key is read."""

    def __init__(self, on_key: Callable[[str], None]) -> None:
        self._on_key = on_key
        self._terminal = sys.stdin.fileno() if _is_our_terminal() else -1
        self._settings: list[Any] = termios.tcgetattr(self._terminal) if self.are_read else []
        self._previous_handler: Any = None
        self._wake_reader, self._wake_writer = os.pipe()
        self._thread = threading.Thread(target=self._read, name="keys", daemon=True)

    @property
    def are_read(self) -> bool:
        """Return whether keys are read."""
        return self._terminal >= 0

    def open(self) -> None:
        """Start to read keys. If an interrupt ends this early, `close` undoes the part that was done."""
        if self.are_read:
            self._previous_handler = signal.signal(signal.SIGCONT, self._resume)
            tty.setcbreak(self._terminal, termios.TCSANOW)
            self._thread.start()

    def close(self) -> None:
        """Restore the terminal's settings and stop reading."""
        if self.are_read:
            signal.signal(signal.SIGCONT, self._previous_handler or signal.SIG_DFL)
            with contextlib.suppress(termios.error):  # the terminal may be closed
                termios.tcsetattr(self._terminal, termios.TCSANOW, self._settings)
            os.write(self._wake_writer, b"\0")
            if self._thread.is_alive():
                self._thread.join()
        os.close(self._wake_writer)
        os.close(self._wake_reader)

    def _resume(self, _number: int, _frame: object) -> None:
        """Switch back to single keys after the program was stopped (Ctrl-Z) and continued in the foreground."""
        if _is_our_terminal():
            tty.setcbreak(self._terminal, termios.TCSANOW)

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._terminal, self._wake_reader], [], [])
            if self._wake_reader in ready:
                return
            try:
                pressed = os.read(self._terminal, MAX_AT_ONCE).decode("utf-8", "replace")
            except OSError:
                pressed = ""
            if not pressed:
                self._on_key(END_OF_INPUT)
                return
            if not pressed.startswith(ESCAPE):  # an arrow or function key
                for key in pressed:
                    self._on_key(key)


def _is_our_terminal() -> bool:
    """Return whether stdin is a terminal and this program runs in its foreground."""
    try:
        return sys.platform != "win32" and sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return False
