"""Deadlines: how long the kit waits for a submission and for its own processes, in seconds of wall-clock time.

`limits.seconds` in exercise.yaml limits a submission: `load`, `check` (the most that a check may allow), and `total`.
The defaults are in `spec/exercise.py:Seconds`. `TimeBudget` keeps these limits, `workers.py:Worker.request` waits until
the deadline, and `checks/session.py` kills the worker once it has passed. `trap/process_relay.py` keeps the deadlines
of traps.
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
"""After this much waiting for a worker, measure how long the worker itself waited for a processor. A worker that waited
less gets no more time.
"""

LEAST_LEFT = 0.02
"""A check does not start with less than this left of the total."""

MAX_RETURNED = 120.0
"""How many seconds of waiting for a processor or a disk are given back at most. The first use of a part of torch may
read it from a slow disk.
"""

DISK_LOOKS = 10
"""How often to look, after a missed deadline, whether the worker waits for a disk: between two waits it runs."""

SECONDS_BETWEEN_LOOKS = 0.005


# Traps: the tests of a student run on several implementations.

TEST_SECONDS = 2.0
"""The most seconds of one run of a test, without the time of the subject."""

TRAP_SECONDS = 8.0
"""The most seconds of all runs of all tests."""

COLLECT_SECONDS = 5.0
"""The most seconds until pytest has collected the tests."""

SUBJECT_SECONDS = 2.0
"""The most seconds of one reply of the subject."""

LEAST_TEST_WAIT = 0.02
"""A test gets extra time only if it has waited at least this long for a processor."""

TRAP_ANSWER_SECONDS = 60.0
"""The most seconds for one trap in a pool, with all its processes, on a busy machine."""

TRAP_PROOF_SECONDS = 120.0
"""The most seconds of all runs of a model trap's tests in a proof, where they run on every wrong fix."""

TRAP_PROOF_ANSWER_SECONDS = 600.0
"""The most seconds for the proof of one model trap in a pool, with all its processes."""


class ProcessorTime(Struct, frozen=True, kw_only=True):
    """How long a process ran, and how long it waited to run, in seconds."""

    ran: float = 0.0
    """CPU time of all threads."""
    waited: float = 0.0
    """Time that the main thread waited for a processor."""
    is_at_disk: bool = False
    """Whether the main thread waited for a disk at one of the looks."""


class Overrun(Struct, frozen=True, kw_only=True):
    """A missed deadline."""

    allowed: str
    """Description of the limit."""
    is_hang: bool
    """Whether the step had its full time."""


class TimeBudget:
    """Seconds of waiting for a submission, in wall-clock time.

    Time in which the worker waited for a processor or for a disk is not charged: it is returned to the current step and
    to the total.
    """

    def __init__(self, total: float) -> None:
        self.charged = 0.0
        """Seconds charged to the current step."""
        self._total = total
        self._left = self._limit = total
        self._step, self._returned = "everything", 0.0
        self._measured, self._since_measured = ProcessorTime(), 0.0

    def renew(self) -> None:
        """Reset the remaining total."""
        self._left, self._returned = self._total, 0.0

    def begin(self, step: str, seconds: float) -> None:
        """Start the clock of a check or of another named step."""
        self._step, self._limit, self.charged = step, seconds, 0.0

    def allow(self, seconds: float) -> None:
        """Raise the step's time limit to `seconds`."""
        self._limit = max(self._limit, seconds)

    def is_over(self) -> bool:
        """Return whether too little of the total is left to start a check."""
        return self._left < LEAST_LEFT

    def deadline(self) -> float:
        """Return the deadline of a reply, on the monotonic clock."""
        return time.monotonic() + min(self._limit - self.charged, self._left)

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Charge the time spent inside the block."""
        started = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            self.charged += seconds
            self._since_measured += seconds
            self._left -= seconds

    def start_worker(self, now: ProcessorTime) -> None:
        """Start measuring a new worker."""
        self._measured, self._since_measured = now, 0.0

    def is_settlement_due(self) -> bool:
        """Return whether it is time to measure the worker again."""
        return self._since_measured >= SETTLED_AT

    def settle(self, now: ProcessorTime) -> bool:
        """Give back the time in which the worker waited for a processor or a disk, at most `MAX_RETURNED` in all.

        The step and the total get it. Return whether it was enough to wait for the worker again after its deadline.
        """
        idle = max(0.0, self._since_measured - (now.ran - self._measured.ran))
        blocked = idle if now.is_at_disk else min(idle, now.waited - self._measured.waited)
        returned = min(blocked, MAX_RETURNED - self._returned)
        self._returned += returned
        self._left += returned
        self.charged = max(0.0, self.charged - returned)
        self.start_worker(now)
        return returned >= SETTLED_AT

    def overrun(self) -> Overrun:
        """Describe why the worker missed its deadline."""
        left = max(self._left + self.charged, 0.0)
        if left < self._limit:
            return Overrun(allowed=f"{left:.1f} s were left of {self._total:g} s for all checks", is_hang=False)
        is_starved = self._returned >= MAX_RETURNED
        return Overrun(allowed=f"{self._step} may take {self._limit:.3g} s", is_hang=not is_starved)
