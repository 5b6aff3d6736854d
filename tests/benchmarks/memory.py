"""How much memory a command and everything it has started hold, sampled while it runs, beside how far it is."""

import os
import sqlite3
import threading
from pathlib import Path
from typing import Self

from msgspec import Struct

EVERY_SECONDS = 1.0
PAGE = os.sysconf("SC_PAGE_SIZE")
MEGABYTE, KILOBYTE = 1 << 20, 1 << 10


class Moment(Struct, frozen=True):
    """What all processes held together, and how many verdicts there were.

    A page that several processes share is counted once, as far as the kernel tells; else for each of them.
    """

    verdicts: int
    megabytes: float


class Sampler:
    """Looks at a process and its descendants again and again, in a thread."""

    def __init__(self, process: int, gradebook: Path) -> None:
        self.moments: list[Moment] = []
        self._process = process
        self._gradebook = gradebook
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def peak(self) -> float:
        """The most that was ever held, in megabytes."""
        return max((moment.megabytes for moment in self.moments), default=0.0)

    def between(self, least: float, most: float) -> list[float]:
        """The memory used while the number of verdicts was in this range."""
        return [moment.megabytes for moment in self.moments if least <= moment.verdicts < most]

    def _look_on(self) -> None:
        while not self._is_over.wait(EVERY_SECONDS):
            held = sum(map(held_bytes, family_of(self._process)))
            self.moments.append(Moment(_verdicts(self._gradebook), held / MEGABYTE))


def family_of(process: int) -> list[int]:
    """A process and its descendants."""
    found, waiting = [], [process]
    while waiting:
        found.append(waiting.pop())
        for path in Path(f"/proc/{found[-1]}/task").glob("*/children"):
            try:
                waiting += map(int, path.read_text().split())
            except OSError:
                continue  # it has ended meanwhile
    return found


def held_bytes(process: int) -> int:
    """Its share of every page that it holds; a worker that is just being cleared away would count as a whole one."""
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * KILOBYTE
    except OSError:
        pass  # it has ended, or may not be looked into
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def _verdicts(gradebook: Path) -> int:
    """How many there are; 0 while there is no gradebook."""
    try:
        connection = sqlite3.connect(f"file:{gradebook}?mode=ro", uri=True)
    except sqlite3.Error:
        return 0
    try:
        return connection.execute("SELECT max(id) FROM verdicts").fetchone()[0] or 0
    except sqlite3.Error:
        return 0
    finally:
        connection.close()
