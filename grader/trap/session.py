"""What happened while a trap ran on one implementation: outcomes of its tests, and recorded replies."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from grader.sandbox.protocol import TestRun
from grader.sandbox.traps.messages import Finished


class Trap(Struct, frozen=True, kw_only=True):
    """A trap's file: its name on pages, and its text."""

    name: str
    text: str


class Ending(StrEnum):
    """How a run of a test ended."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    DIED = "died"
    OVER_LIMIT = "over_limit"
    """It made too many requests, or exchanged too much data with the subject."""


BY_ITSELF = (Ending.PASSED, Ending.FAILED)
"""The endings of a run that neither hung, nor ended its process, nor was stopped."""


class TestOutcome(Struct, frozen=True, kw_only=True):
    """One run of one test, and the transcript up to its end."""

    test: int
    seed: int
    ending: Ending
    transcript: str
    """A digest of all requests and replies that the test's process exchanged until the run ended."""
    calls: int
    """The requests of this run."""
    report: Finished

    @property
    def passed(self) -> bool:
        """True if the test accepted the implementation."""
        return self.ending is Ending.PASSED


class Exchange(Struct, frozen=True, kw_only=True):
    """A request and its reply."""

    request: bytes
    reply: bytes


class RecordedRun(Struct, frozen=True, kw_only=True):
    """A run that ended by itself, and its exchanges."""

    run: TestRun
    exchanges: Sequence[Exchange]
    earlier: str
    """The transcript of the earlier runs in the same process; empty for the first run."""


class TrapSession:
    """What happened on one implementation: the outcomes, and the recordings of each test process."""

    def __init__(self) -> None:
        self.outcomes: list[TestOutcome] = []
        self.processes: list[list[RecordedRun]] = []
        self.names: list[str] = []
        self.problem = ""
        """Why no test runs; empty if the tests were collected."""
        self.line = 0
        self.is_collected = False
        self.is_time_up = False
        self.isolation: dict[str, bool] = {}
