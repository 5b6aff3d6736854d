"""Deadlines: how long the kit waits for a submission and for its own processes, in seconds of wall-clock time.

`limits.seconds` in exercise.yaml limits a submission: `load`, `check` (the most that a check may allow), and `total`.
`TimeBudget` keeps these limits, `workers.py:Worker.request` waits until the deadline, and `checks/session.py` kills the
worker once it has passed.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

LEAST_CHECK_SECONDS = 3.0
"""Minimum time limit of a check, however fast the reference is.

The first use of some parts of torch (`torch.testing`, `torch.func`, nested tensors, generators) imports them, which
takes 0.6 s on a fast computer.
"""

LEAST_AFTER_A_HANG = 1.0
"""Minimum time limit of a check once the submission has hung, so that an endless loop does not cost 3 s twice."""

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
"""After this much waiting for a worker, measure how long the worker itself waited for a processor. A starved worker
gets at least so much more time.
"""

LEAST_LEFT = 0.02
"""A check does not start with less than this left of the total."""

FAIR_SHARE = 0.5
"""A worker was starved if it got less CPU than this share of its limit, and either waited at least as long for a
processor or is waiting for a disk: parts of torch may be read for the first time, from a slow disk.
"""


MAX_FORGIVEN = 60.0
"""The most waiting in a submission's checks that is not charged because the worker was starved."""


class ProcessorTime(Struct, frozen=True, kw_only=True):
    """How long a process ran, and how long it waited to run, in seconds."""

    ran: float = 0.0
    """CPU time of all threads."""
    waited: float = 0.0
    """Time that the main thread waited for a processor."""
    is_at_disk: bool = False
    """Whether the main thread is waiting for a disk now."""


class Overrun(Struct, frozen=True, kw_only=True):
    """A missed deadline."""

    allowed: str
    """Description of the limit."""
    is_starved: bool
    """Whether the worker got too little CPU time."""
    is_hang: bool
    """Whether the worker had its full time, by the clock or in CPU time."""


class TimeBudget:
    """Seconds of waiting for a submission, in wall-clock time.

    Time that the worker waited for a processor is returned to the total, and to the current check if the worker was
    starved.
    """

    def __init__(self, total: float) -> None:
        self.waited = 0.0
        """Seconds spent in the current check."""
        self._total = total
        self._left = self._limit = self._fair = total
        self._step, self._forgiven = "everything", 0.0
        self._measured, self._since_measured = ProcessorTime(), 0.0

    def renew(self) -> None:
        """Reset the remaining total."""
        self._left = self._total

    def begin(self, step: str, seconds: float) -> None:
        """Start the clock of a check or of another named step."""
        self._step, self.waited = step, 0.0
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
            self._since_measured += seconds
            self._left -= seconds

    def start_worker(self, now: ProcessorTime) -> None:
        """Start measuring a new worker."""
        self._measured, self._since_measured = now, 0.0

    def is_settlement_due(self) -> bool:
        """Return whether it is time to measure the worker again."""
        return self._since_measured >= SETTLED_AT

    def settle(self, now: ProcessorTime) -> None:
        """Return the time that the worker waited for a processor to the total."""
        used = self._used(now)
        self._left += max(0.0, min(used.waited, self._since_measured - used.ran))
        self.start_worker(now)

    def forgive(self, now: ProcessorTime) -> bool:
        """If the worker that missed its deadline was starved, return the time that it did not run to the check and the
        total. Return whether it was; at most `MAX_FORGIVEN` seconds are returned in all.
        """
        idle = max(SETTLED_AT, self._since_measured - self._used(now).ran)
        if not self.overrun(now).is_starved or self._forgiven + idle > MAX_FORGIVEN:
            return False
        self._forgiven += idle
        self._left += idle
        self.waited = max(0.0, self.waited - idle)
        self.start_worker(now)
        return True

    def overrun(self, now: ProcessorTime) -> Overrun:
        """Describe the overrun of a worker that missed its deadline."""
        used = self._used(now)
        is_starved = used.ran < FAIR_SHARE * self._fair and (used.waited >= FAIR_SHARE * self._fair or now.is_at_disk)
        left = max(self._left + self.waited, 0.0)
        allowed = f"{self._step} may take {self._limit:.3g} s"
        if left < self._limit:
            allowed = f"{left:.1f} s were left of {self._total:g} s for all checks"
        is_hang = not is_starved and (left >= self._limit or used.ran >= self._fair)
        return Overrun(allowed=allowed, is_starved=is_starved, is_hang=is_hang)

    def _used(self, now: ProcessorTime) -> ProcessorTime:
        """Return the worker's CPU and waiting time since the last measurement."""
        return ProcessorTime(ran=now.ran - self._measured.ran, waited=now.waited - self._measured.waited)
