"""Saves as the operating system tells of them, and a second look for where it does not."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

from grader.course.paths import Course

STEP_MS = 5
"""How often watchfiles asks for events, and how long it waits for more of them: 6 ms from a save to its event and half
a percent of a core, measured; its own defaults are 50 and up to 1600 ms."""

MOST_STEPS = 10
"""A program that never stops writing is told of every so many steps."""

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
