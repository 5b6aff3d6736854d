"""What a watch listens to: files that are saved, whole or half written, and single keys from the terminal."""

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
"""How often watchfiles asks for events, and how long it waits for more of them: 6 ms from a save to its event and half
a percent of a core, measured; its own defaults are 50 and up to 1600 ms."""

MOST_STEPS = 10
"""A program that writes without end is reported every this many steps."""

Signature = tuple[tuple[int, ...], ...]
"""Files as `stat` sees them: another one after each save, except within one tick of the file system's clock."""


class Saves:
    """Calls `tell`, from a thread of its own, whenever an exercise's file was written, moved or deleted.

    Where the system offers no such events (a network drive, too many watches) it falls silent: look at `signature`.
    """

    def __init__(self, course: Course, tell: Callable[[], None]) -> None:
        self._folder = course.root / "exercises"
        self._tell = tell
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
                debounce=STEP_MS * MOST_STEPS,
                step=STEP_MS,
                stop_event=self._stop,
                raise_interrupt=False,
            ):
                self._tell()
        except (OSError, RuntimeError):
            return


def signature(course: Course, exercise_id: str) -> Signature:
    """How the exercise's two files look from outside."""
    return tuple(_status(path) for path in course.editable_files(exercise_id))


def _status(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode


WHOLE = 0.9
"""A file that keeps less than this of its length may still be on its way to the disk."""


def looks_cut_off(before: Choice, now: Choice) -> bool:
    """Whether the source lost a good part of its length or its last line's end, as one that is half written does."""
    if not isinstance(before.read, Submission) or not isinstance(now.read, Submission) or before.path != now.path:
        return False
    whole, part = _text(before.read), _text(now.read)
    return len(part) < WHOLE * len(whole) or (whole.endswith("\n") and not part.endswith("\n"))


def _text(submission: Submission) -> str:
    return "".join(chunk.text for chunk in submission.chunks)


if sys.platform != "win32":
    import termios
    import tty

END_OF_INPUT = "\x04"
"""What a terminal sends for Ctrl-D, and what is told when it has gone."""

ESCAPE = "\x1b"
MOST_AT_ONCE = 64


class Keys:
    """Calls `tell` with each key pressed, from a thread of its own; with none where stdin is no terminal of ours."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._terminal = sys.stdin.fileno() if _is_our_terminal() else -1
        self._before: list[Any] = termios.tcgetattr(self._terminal) if self.are_read else []
        self._resumed: Any = None
        self._woken, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._read, name="keys", daemon=True)

    @property
    def are_read(self) -> bool:
        """Whether there is anybody to press one."""
        return self._terminal >= 0

    def open(self) -> None:
        """Read from now on. An interrupt may come at any moment: `close` puts right whatever was done till then."""
        if self.are_read:
            self._resumed = signal.signal(signal.SIGCONT, self._resume)
            tty.setcbreak(self._terminal, termios.TCSANOW)
            self._thread.start()

    def close(self) -> None:
        """Put the terminal's settings back, and read no more."""
        if self.are_read:
            signal.signal(signal.SIGCONT, self._resumed or signal.SIG_DFL)
            with contextlib.suppress(termios.error):  # the terminal may have gone
                termios.tcsetattr(self._terminal, termios.TCSANOW, self._before)
            os.write(self._wake, b"\0")
            if self._thread.is_alive():
                self._thread.join()
        os.close(self._wake)
        os.close(self._woken)

    def _resume(self, _number: int, _frame: object) -> None:
        """Read single keys again after the program was stopped (Ctrl-Z) and goes on in the foreground."""
        if _is_our_terminal():
            tty.setcbreak(self._terminal, termios.TCSANOW)

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._terminal, self._woken], [], [])
            if self._woken in ready:
                return
            try:
                pressed = os.read(self._terminal, MOST_AT_ONCE).decode("utf-8", "replace")
            except OSError:
                pressed = ""
            if not pressed:
                self._tell(END_OF_INPUT)
                return
            if not pressed.startswith(ESCAPE):  # arrows and their like are no letters
                for key in pressed:
                    self._tell(key)


def _is_our_terminal() -> bool:
    """Whether stdin is a terminal in whose foreground this program runs."""
    try:
        return sys.platform != "win32" and sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return False
