"""Sample the memory of a command and its descendants while it runs, with its progress."""

import os
import sqlite3
import threading
from pathlib import Path
from typing import Self

from msgspec import Struct

EVERY_SECONDS = 1.0
PAGE = os.sysconf("SC_PAGE_SIZE")
MEGABYTE, KILOBYTE = 1 << 20, 1 << 10


class Moment(Struct, frozen=True, kw_only=True):
    """The memory of all processes together, and the number of verdicts.

    A page that several processes share counts once if the kernel reports shares, or else once for each process.
    """

    verdicts: int
    megabytes: float


class Sampler:
    """Samples the memory of a process and its descendants, in a thread of its own."""

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
        """Return the largest sample, in megabytes."""
        return max((moment.megabytes for moment in self.moments), default=0.0)

    def between(self, least: float, most: float) -> list[float]:
        """Return the samples taken while the number of verdicts was in this range."""
        return [moment.megabytes for moment in self.moments if least <= moment.verdicts < most]

    def _look_on(self) -> None:
        while not self._is_over.wait(EVERY_SECONDS):
            held = sum(map(held_bytes, family_of(self._process)))
            self.moments.append(Moment(verdicts=_verdicts(self._gradebook), megabytes=held / MEGABYTE))


def family_of(process: int) -> list[int]:
    """Return a process and its descendants."""
    found, waiting = [], [process]
    while waiting:
        found.append(waiting.pop())
        for path in Path(f"/proc/{found[-1]}/task").glob("*/children"):
            try:
                waiting += map(int, path.read_text().split())
            except OSError:
                continue  # it has ended
    return found


def held_bytes(process: int) -> int:
    """Return a process's share of its pages, so that a worker that is ending counts little."""
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * KILOBYTE
    except OSError:
        pass  # it has ended, or may not be read
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def _verdicts(gradebook: Path) -> int:
    """Return the number of verdicts; 0 while there is no gradebook."""
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
