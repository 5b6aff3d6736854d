"""What a check saw: the record that passes from the examiner to the verdict."""

from enum import StrEnum

from msgspec import Struct


class Status(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    NOT_RUN = "not_run"


class Location(Struct, frozen=True):
    """A line of the submission, as the student sees it; `column` counts from 1, or is 0 where it is not known."""

    label: str
    line: int
    text: str
    column: int = 0

    def __str__(self) -> str:
        return f"{self.label}, line {self.line}" + (f", column {self.column}" if self.column else "")


class Finding(Struct, frozen=True):
    """What a check did, expected and saw, in tensors' terms; `kind` is the sort of fault, for comparing outcomes."""

    kind: str
    text: str
    location: Location | None = None
    sizes: str = ""


class Outcome(Struct, frozen=True):
    """What one check saw. `seconds` is wall-clock time."""

    check: str
    status: Status
    finding: Finding | None = None
    seconds: float = 0.0

    def failure_kind(self) -> str:
        """The sort of outcome: equal for the same fault at any seed."""
        return f"{self.status}:{self.finding.kind}" if self.finding else str(self.status)


class Examination(Struct, frozen=True):
    """All that was seen of one submission.

    `unloadable` says why no check could run; `methods` holds a fingerprint of each method's syntax tree.
    """

    outcomes: list[Outcome]
    unloadable: Finding | None = None
    methods: dict[str, str] = {}
    isolation: dict[str, bool] = {}
    seconds: float = 0.0


class Key(Struct, frozen=True):
    """How every variant of an exercise behaves, and how its methods read.

    Variants are named by their defects' ids joined by `+`. `failure_kinds` leaves out the checks that pass.
    """

    digest: str
    failure_kinds: dict[str, dict[str, str]]
    methods: dict[str, dict[str, str]]
