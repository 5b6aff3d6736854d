"""What a trap may use: the seconds of its tests, and the bytes of its transcripts."""

import threading
from collections import Counter

MEGABYTE = 1 << 20

MAX_TRANSCRIPTS_BYTES = 512 * MEGABYTE
"""The most bytes of all transcripts of a trap, which the examiner keeps for the replay."""

RESERVE = 1.5
"""The most expensive test runs again only if it leaves this many times the seconds that the other tests need."""

NEXT_RUNS = 3
"""The runs of one test that begin, in all lanes, before its cost is known."""

LARGE_SHARE = 0.25
"""A test is expensive if all its runs would take more than this share of the trap's time."""


class TimeUpError(Exception):
    """The trap has used all its time."""


class OverLimitError(Exception):
    """A run makes too many requests, or exchanges too much data with the subject."""


class TrapBudget:
    """What a trap may still use, in all lanes together: seconds of its tests, and bytes of transcripts."""

    def __init__(self, seconds: float) -> None:
        self.left = self._total = seconds
        self._planned_runs = 0
        """How often each test will run on the implementations that have not begun."""
        self.seconds: dict[int, float] = {}
        """The seconds that each test has used."""
        self.too_costly: dict[int, float] = {}
        """The tests that do not run again, so that time is left for the others, with the seconds that they need."""
        self.too_large: set[int] = set()
        """The tests that exchanged too much data in all their runs together."""
        self._set_aside: set[int] = set()
        """The tests that do not run again for other reasons."""
        self._runs: Counter[int] = Counter()
        """The runs of each test that have ended."""
        self._bytes: Counter[int] = Counter()
        self._lock = threading.Lock()

    def spend(self, test: int, seconds: float) -> None:
        """Subtract the seconds of one run."""
        with self._lock:
            self.left -= max(0.0, seconds)
            self.seconds[test] = self.seconds.get(test, 0.0) + max(0.0, seconds)
            self._runs[test] += 1
            self._stop_costly()

    def plan(self, runs: int) -> None:
        """Add to the runs of each test that have not begun."""
        with self._lock:
            self._planned_runs += runs

    def set_aside(self, test: int) -> None:
        """Note that a test does not run again, so that it needs no time."""
        with self._lock:
            self._set_aside.add(test)

    def _stop_costly(self) -> None:
        """Stop the most expensive tests when no more time is left than the others need."""
        while True:
            ended = self._set_aside.union(self.too_costly)
            means = {test: self.seconds[test] / runs for test, runs in self._runs.items() if test not in ended}
            if not means:
                return
            test = max(means, key=means.__getitem__)
            own = means[test] * self._planned_runs
            others = sum(means.values()) * self._planned_runs - own
            is_in_time = self.left > own + others or self.left - NEXT_RUNS * means[test] > RESERVE * others
            if is_in_time or len(means) == 1 or own < LARGE_SHARE * self._total:
                return
            self.too_costly[test] = self.seconds[test] + own

    def keep(self, test: int, size: int) -> None:
        """Add bytes to the transcripts. If there are too many, raise `OverLimitError` for the test with the most."""
        with self._lock:
            self._bytes[test] += size
            if self._bytes.total() > MAX_TRANSCRIPTS_BYTES and self._bytes[test] == max(self._bytes.values()):
                self.too_large.add(test)
                raise OverLimitError(exchanges_too_much(MAX_TRANSCRIPTS_BYTES, "all runs"))


def exchanges_too_much(limit: int, where: str) -> str:
    """Return the error of a test that exceeds `limit` bytes."""
    return f"it exchanges more than {limit // MEGABYTE} MB with the subject in {where}"
