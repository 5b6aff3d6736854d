"""The result of a trap: the standing of each test, and the caught defects. `report/trap.py` turns it into text."""

from enum import StrEnum

from msgspec import Struct

from grader.sandbox.traps.messages import Cause


class TrapOutcome(StrEnum):
    """The outcome of a trap as a whole."""

    CAUGHT = "caught"
    """Every defect is caught alone, extras aside."""
    NOT_CAUGHT = "not_caught"
    """Some defect is not caught."""
    NOT_GRADABLE = "not_gradable"
    """No test ran."""


class Standing(StrEnum):
    """The standing of a test: it counts, or the reason why it was set aside."""

    COUNTS = "counts"
    NEVER_CALLS = "never_calls"
    """It calls the subject in no run."""
    FAILS_EARLY = "fails_early"
    """It fails in each run before it calls the subject."""
    FAILS_REFERENCE = "fails_reference"
    """It fails on the reference at every seed, so it runs on no other implementation."""
    FAILS_RIGHT = "fails_right"
    """It fails on some right implementation at some seed."""
    SOMETIMES = "sometimes"
    """It fails on the same right implementation at some seeds and not at others."""
    TOO_SLOW = "too_slow"
    """It takes too long on a right implementation."""
    TOO_LARGE = "too_large"
    """It runs out of memory on a right implementation."""
    OVER_LIMIT = "over_limit"
    """It calls the subject too often, or exchanges too much data with it."""
    TOO_COSTLY = "too_costly"
    """All its runs together take so long that no time would be left for the other tests."""
    ENDED = "ended"
    """It ends its process."""
    OTHER_CAUSE = "other_cause"
    """Its outcome does not follow from the replies that it got."""
    TOO_MANY = "too_many"
    """The trap has too many tests."""
    NOT_RUN = "not_run"
    """The time was up before it had run on every right implementation."""


class Caught(StrEnum):
    """How reliably a defective implementation was caught."""

    ALWAYS = "always"
    SOMETIMES = "sometimes"
    NEVER = "never"


class TestResult(Struct, frozen=True, kw_only=True):
    """A test of the trap."""

    name: str
    standing: Standing
    accepts: int = 0
    """The right implementations that it accepts at all seeds."""
    of: int = 0
    """The right implementations on which it ran."""
    fails_on: tuple[int, ...] = ()
    """The numbers of the right implementations on which it fails."""
    reason: str = ""
    """The type and text of the first exception on a right implementation."""
    cause: Cause = Cause.OTHER
    """The kind of this exception."""
    line: int = 0
    by_crash: bool = False
    """True if this exception came from the subject."""
    difference: float | None = None
    """The largest difference in a failed comparison of tensors on right implementations."""
    tolerance: float = 0.0
    """The difference that this comparison allowed."""
    changed: str = ""
    """The first of torch's settings that it changed; empty if it changed none."""
    seconds: float = 0.0
    """The seconds of its runs, if the time was up; the seconds that all its runs need, if it was too costly."""
    catches: int = 0
    """The defective and half-fixed implementations that it catches."""
    catches_half_fixed: int = 0
    """The half-fixed implementations that it catches."""


class DefectResult(Struct, frozen=True, kw_only=True):
    """A defect, and the tests that catch it while no other defect is present."""

    number: int
    points: float = 0.0
    max_points: float = 0.0
    stretch: bool
    caught: Caught
    by: tuple[str, ...] = ()
    """The tests that catch it at every seed."""
    sometimes_by: tuple[str, ...] = ()
    """The tests that catch it at some seeds."""
    by_crash: bool = False
    """True if each of these tests fails because the subject raised an exception."""


class Count(Struct, frozen=True, kw_only=True):
    """How many of some implementations were caught."""

    caught: int = 0
    of: int = 0


class TrapResult(Struct, frozen=True, kw_only=True):
    """The result of a trap on one exercise."""

    exercise: str
    file: str
    seed: int
    problem: str = ""
    """Why no test ran; empty if some did."""
    line: int = 0
    """The line of the problem; 0 if none is known."""
    tests: tuple[TestResult, ...] = ()
    defects: tuple[DefectResult, ...] = ()
    subsets: Count = Count()
    half_mended: Count = Count()
    with_own_test: Count = Count()
    """The defects that some test catches exactly where they are present."""
    score: float = 0.0
    max_score: float = 0.0
    extra: float = 0.0
    """Points for stretch defects."""
    is_time_up: bool = False
    is_decoy: bool = False
    """True if nothing is wrong with the published code, so that the defective implementations are wrong fixes."""
    is_at_home: bool = False
    """True if it ran in a sealed edition, without references; points come with the hand-in."""
    isolation: dict[str, bool] = {}
    seconds: float = 0.0

    def outcome(self) -> TrapOutcome:
        """Return the outcome of the whole trap."""
        if self.problem:
            return TrapOutcome.NOT_GRADABLE
        return TrapOutcome.CAUGHT if self.catches_all() else TrapOutcome.NOT_CAUGHT

    def depends_on_time(self) -> bool:
        """Return whether a busy machine may have changed the result."""
        by_time = (Standing.TOO_SLOW, Standing.TOO_COSTLY, Standing.NOT_RUN)
        return self.is_time_up or any(each.standing in by_time for each in self.tests)

    def catches_all(self) -> bool:
        """Return whether every defect that is not extra is caught; at home, whether the starter is."""
        if self.is_at_home:
            return 0 < self.subsets.caught == self.subsets.of
        wanted = [each for each in self.defects if not each.stretch]
        return bool(wanted) and all(each.caught is Caught.ALWAYS for each in wanted)
