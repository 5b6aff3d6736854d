"""Deadlines: how long the kit waits for a submission, and for its own processes. All are seconds by the wall's clock.

`limits.seconds` in exercise.yaml limits a submission: `load`, `check` (the most that a check may allow), and `total`.
`TimeBudget` keeps these limits, `workers.py:Worker.request` waits until the deadline, and `checks/session.py` kills the
worker once it has passed.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

LEAST_CHECK_SECONDS = 1.0
"""The least that a check may take, however little the reference takes."""

TIMES_THE_REFERENCE = 50.0
"""How many times as long as the reference a submission may take, up to `limits.seconds.check`."""

PARSE_SECONDS = 2.0
"""How long parsing a submission may take; it usually takes about two milliseconds."""

CONFINE_SECONDS = 30.0
"""How long a worker may take to enter all layers on a busy machine; it usually takes about 10 ms."""

GRACE_SECONDS = 0.2
"""How long a worker that hung up may take to end by itself, or a worker that hangs to write its stack."""

SPAWN_SECONDS = 60.0
"""How long a spawned worker may take to import torch on a slow machine."""

NURSERY_ANSWER_SECONDS = 60.0
"""How long the nursery may take to answer, on a slow machine."""

NURSERY_END_SECONDS = 5.0
"""How long the nursery may take to end once its connection is closed."""

EXAMINER_START_SECONDS = 120.0
"""How long an examiner process may take to start and to examine the reference, beside a submission's own limits."""

EXAMINER_END_SECONDS = 10.0
"""How long an examiner process may take to end by itself once its pipes are closed."""

SETTLED_AT = 0.05
"""Seconds of waiting for a worker after which its own waiting for a processor is measured."""

LEAST_LEFT = 0.02
"""A check is not begun with less than this left of the total."""

FAIR_SHARE = 0.5
"""A worker that got less CPU than this share of its limit, and waited at least as long, was starved."""


class Processor(NamedTuple):
    """Seconds that a process has run, all its threads together, and that its main thread has waited for a processor."""

    ran: float
    waited: float


class Overrun(NamedTuple):
    """Time that ran out: which limit that was, in words, and whether the worker had a processor for long enough.

    One that `is_starved` hardly got a processor; one that `is_hang` had all the time that it was to have.
    """

    allowed: str
    is_starved: bool
    is_hang: bool


class TimeBudget:
    """Seconds of waiting for a submission, by the wall's clock.

    What the worker waited for a processor itself is given back to the total, never to the check under way.
    """

    def __init__(self, total: float) -> None:
        self.waited = 0.0
        """Seconds in the check under way."""
        self._total = total
        self._left = self._limit = self._fair = total
        self._what = "everything"
        self._cpu, self._since_cpu = Processor(0.0, 0.0), 0.0

    def renew(self) -> None:
        """Start the total anew."""
        self._left = self._total

    def begin(self, what: str, seconds: float) -> None:
        """Start the clock of one check, or whatever else is called so."""
        self._what, self.waited = what, 0.0
        self._limit = self._fair = seconds

    def allow(self, seconds: float) -> None:
        """Let the check take as much, and count as much as its fair share of a processor."""
        self._fair = max(self._fair, seconds)
        self.extend(seconds)

    def extend(self, seconds: float) -> None:
        """Let the check take as much."""
        self._limit = max(self._limit, seconds)

    def is_over(self) -> bool:
        """Whether too little is left in all to begin anything."""
        return self._left < LEAST_LEFT

    def deadline(self) -> float:
        """Until when a reply may be waited for, by the monotonic clock."""
        return time.monotonic() + min(self._limit - self.waited, self._left)

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Charge what is done within."""
        started = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            self.waited += seconds
            self._since_cpu += seconds
            self._left -= seconds

    def start_worker(self, now: Processor) -> None:
        """Measure a new worker from here on."""
        self._cpu, self._since_cpu = now, 0.0

    def is_settlement_due(self) -> bool:
        """Whether enough was waited since the worker was last measured."""
        return self._since_cpu >= SETTLED_AT

    def settle(self, now: Processor) -> None:
        """Give the time back that the worker waited for a processor."""
        ran, waited = self._used(now)
        self._left += max(0.0, min(waited, self._since_cpu - ran))
        self.start_worker(now)

    def overrun(self, now: Processor) -> Overrun:
        """What is known of a worker that did not answer by the deadline."""
        ran, waited = self._used(now)
        is_starved = ran < FAIR_SHARE * self._fair <= waited
        left = max(self._left + self.waited, 0.0)
        allowed = f"{self._what} may take {self._limit:.3g} s"
        if left < self._limit:
            allowed = f"of {self._total:g} s for all, {left:.1f} s were left"
        return Overrun(allowed, is_starved, not is_starved and (left >= self._limit or ran >= self._fair))

    def _used(self, now: Processor) -> Processor:
        """What the worker ran and waited since it was last measured."""
        return Processor(now.ran - self._cpu.ran, now.waited - self._cpu.waited)
