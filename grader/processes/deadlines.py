"""Deadlines: how long the kit waits for a submission and for its own processes, in seconds of wall-clock time.

`limits.seconds` in exercise.yaml limits a submission: `load`, `check` (the most that a check may allow), and `total`.
`TimeBudget` keeps these limits, `workers.py:Worker.request` waits until the deadline, and `checks/session.py` kills the
worker once it has passed.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

LEAST_CHECK_SECONDS = 1.0
"""Minimum time limit of a check, however fast the reference is."""

TIMES_THE_REFERENCE = 50.0
"""Time limit of a check as a multiple of the reference's time, at most `limits.seconds.check`."""

PARSE_SECONDS = 2.0
"""How long parsing a submission may take; it usually takes about two milliseconds."""

CONFINE_SECONDS = 30.0
"""How long a worker may take to enter all layers on a busy machine; it usually takes about 10 ms."""

GRACE_SECONDS = 0.2
"""How long a worker may take to end after closing its connection, or to write its stack when it hangs."""

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
"""After this much waiting for a worker, measure how long the worker itself waited for a processor."""

LEAST_LEFT = 0.02
"""A check does not start with less than this left of the total."""

FAIR_SHARE = 0.5
"""A worker that got less CPU than this share of its limit, and waited at least as long, was starved."""


class Processor(NamedTuple):
    """CPU seconds of all threads of a process, and seconds that its main thread waited for a processor."""

    ran: float
    waited: float


class Overrun(NamedTuple):
    """A missed deadline: a description of the limit, and whether the worker got enough CPU time.

    `is_starved`: the worker got too little CPU time. `is_hang`: it had its full time.
    """

    allowed: str
    is_starved: bool
    is_hang: bool


class TimeBudget:
    """Seconds of waiting for a submission, in wall-clock time.

    Time that the worker waited for a processor is returned to the total, never to the current check.
    """

    def __init__(self, total: float) -> None:
        self.waited = 0.0
        """Seconds spent in the current check."""
        self._total = total
        self._left = self._limit = self._fair = total
        self._what = "everything"
        self._cpu, self._since_cpu = Processor(0.0, 0.0), 0.0

    def renew(self) -> None:
        """Reset the remaining total."""
        self._left = self._total

    def begin(self, what: str, seconds: float) -> None:
        """Start the clock of a check or of another named step."""
        self._what, self.waited = what, 0.0
        self._limit = self._fair = seconds

    def allow(self, seconds: float) -> None:
        """Raise the check's time limit, and the CPU time it should get, to `seconds`."""
        self._fair = max(self._fair, seconds)
        self.extend(seconds)

    def extend(self, seconds: float) -> None:
        """Raise the check's time limit to `seconds`."""
        self._limit = max(self._limit, seconds)

    def is_over(self) -> bool:
        """Return whether too little of the total is left to start a check."""
        return self._left < LEAST_LEFT

    def deadline(self) -> float:
        """Return the deadline of a reply, on the monotonic clock."""
        return time.monotonic() + min(self._limit - self.waited, self._left)

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Charge the time spent inside the block."""
        started = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            self.waited += seconds
            self._since_cpu += seconds
            self._left -= seconds

    def start_worker(self, now: Processor) -> None:
        """Start measuring a new worker."""
        self._cpu, self._since_cpu = now, 0.0

    def is_settlement_due(self) -> bool:
        """Return whether the worker is due to be measured again."""
        return self._since_cpu >= SETTLED_AT

    def settle(self, now: Processor) -> None:
        """Return the time that the worker waited for a processor to the total."""
        ran, waited = self._used(now)
        self._left += max(0.0, min(waited, self._since_cpu - ran))
        self.start_worker(now)

    def overrun(self, now: Processor) -> Overrun:
        """Describe the overrun of a worker that missed its deadline."""
        ran, waited = self._used(now)
        is_starved = ran < FAIR_SHARE * self._fair <= waited
        left = max(self._left + self.waited, 0.0)
        allowed = f"{self._what} may take {self._limit:.3g} s"
        if left < self._limit:
            allowed = f"of {self._total:g} s for all, {left:.1f} s were left"
        return Overrun(allowed, is_starved, not is_starved and (left >= self._limit or ran >= self._fair))

    def _used(self, now: Processor) -> Processor:
        """Return the worker's CPU and waiting time since the last measurement."""
        return Processor(now.ran - self._cpu.ran, now.waited - self._cpu.waited)
