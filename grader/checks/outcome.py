"""What a check saw: the record that passes from the examiner to the verdict."""

import re
from enum import StrEnum
from typing import Any

from msgspec import Struct

STATE_CHANGED = "state-changed"
"""The kind of fault where all else that a check looks at is right, and a call has changed torch's own settings."""

AFTER_VALUES = ("failed:gradient", "failed:no-gradient", "failed:input-changed")
"""Kinds of fault that a check looks for once it has seen the right values."""

WITH_GRADIENTS = (*AFTER_VALUES, "failed:nonfinite")
"""Kinds that such a check may see in gradients."""


class Status(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    NOT_RUN = "not_run"


class Location(Struct, frozen=True):
    """A line of the submission, as the student sees it; `column` counts from 1, or is 0 where it is not known.

    It stands in verdicts and gradebooks. Findings make it of a worker's `protocol.Location`, bounded and tagged
    for the wire: a worker imports nothing of the examiner's.
    """

    label: str
    line: int
    text: str
    column: int = 0

    def __str__(self) -> str:
        return f"{self.label}, line {self.line}" + (f", column {self.column}" if self.column else "")


class Tried(Struct, frozen=True):
    """What a check was at when it failed: the sizes, by name, and the end of what the submission printed with them.

    `place` is where the element that is furthest off is in what the last call returned, such as `[1][0, 2]` (empty for
    all of it), and `expected` the number that belongs there, empty where it is no part of that.
    """

    sizes: dict[str, int] = {}
    printed: str = ""
    place: str = ""
    expected: str = ""


MOST_LINES = 10
MOST_LINE_BYTES = 200
"""What is shown of what a submission printed: its last lines, each cut."""


def last_lines(printed: bytes) -> str:
    """The end of what was printed, as text."""
    lines = printed[-MOST_LINES * MOST_LINE_BYTES :].rstrip(b"\n").split(b"\n")
    return b"\n".join(line[:MOST_LINE_BYTES] for line in lines[-MOST_LINES:]).decode("utf-8", "replace")


class PictureKind(StrEnum):
    """What a picture shows."""

    VALUES = "values"
    WEIGHTS = "weights"
    MOVEMENT = "movement"
    GRADIENTS = "gradients"


class Map(Struct, frozen=True):
    """A matrix that is drawn, with the rows and columns of its cells that are marked."""

    title: str
    cells: list[list[float]]
    marked: list[tuple[int, int]] = []


class Picture(Struct, frozen=True):
    """What can be drawn of a finding: maps side by side, `across` of them in a line, all on one scale.

    `rows` and `columns` say what the axes are and `first` at which index each begins, `place` which matrix of several
    it is. Gradients are a map of one row, a bar for each of `names`. `passing` are the same maps at the largest sizes
    that pass, and `right_with` what these are.
    """

    kind: PictureKind
    maps: list[Map]
    across: int = 1
    place: str = ""
    rows: str = "last axis but one"
    columns: str = "last axis"
    first: tuple[int, int] = (0, 0)
    names: list[str] = []
    passing: list[Map] = []
    right_with: str = ""


class Finding(Struct, frozen=True):
    """What a check did, expected and saw, in tensors' terms; `kind` is the sort of fault, for comparing outcomes.

    `sizes` compares the sizes that fail with the largest that pass; `at` are those that fail, by name, where they are
    known. `printed` is the end of what the submission wrote to stdout meanwhile, `picture` what can be drawn of values,
    `explanation` in which way they are wrong where that was verified, `operation` what it was doing when it crashed.
    `place` and `expected` are as in `Tried`.
    """

    kind: str
    text: str
    location: Location | None = None
    sizes: str = ""
    at: dict[str, int] = {}
    printed: str = ""
    picture: Picture | None = None
    explanation: str = ""
    operation: str = ""
    place: str = ""
    expected: str = ""


class Outcome(Struct, frozen=True):
    """What one check saw. `seconds` is wall-clock time; `advice` is told and costs nothing.

    `is_unlike` tells of wrong numbers that they are those of no variant that fails in the same ways.
    """

    check: str
    status: Status
    finding: Finding | None = None
    seconds: float = 0.0
    advice: str = ""
    is_unlike: bool = False

    def is_else_right(self) -> bool:
        """Whether the check would have passed, had no call changed torch's own settings."""
        return self.status is Status.FAILED and self.finding is not None and self.finding.kind == STATE_CHANGED

    def failure_kind(self) -> str:
        """The sort of outcome: equal for the same fault at any seed, and crashes for the same operation alone."""
        if self.finding is None:
            return str(self.status)
        operation = f"@{self.finding.operation}" if self.finding.operation else ""
        return f"{self.status}:{self.finding.kind}{operation}"


class Examination(Struct, frozen=True):
    """All that was seen of one submission. What is said of defects is added by `verdict/`."""

    outcomes: list[Outcome]
    unloadable: Finding | None = None
    """Why no check could run."""
    methods: dict[str, str] = {}
    """A fingerprint of each method's syntax tree."""
    isolation: dict[str, bool] = {}
    seconds: float = 0.0
    saw: dict[str, Any] = {}
    """What failed checks saw in place of what they expected."""
    comparing: frozenset[str] = frozenset()
    """The checks that compare values."""
    comparing_parts: frozenset[str] = frozenset()
    """Those of them that never called the module itself."""
    in_training: frozenset[str] = frozenset()
    """The checks that failed in a calling variant of training mode, which is tried where all else is right."""
    recognised: frozenset[str] = frozenset()
    """The failed checks whose numbers are those of a variant that may be the submission."""
    partial_fixes: dict[str, set[str]] = {}
    """By check, defects that are mended elsewhere: their variants fail it just so, number for number."""
    known_defects: dict[str, bool] = {}
    """In a sealed edition: whether a defect is there, of those of which what failed checks saw tells."""


class Key(Struct, frozen=True):
    """How every variant of an exercise behaves, and how its methods read, by `variant_name`.

    `failure_kinds` leaves out the checks that pass. A sealed edition's key has no `methods`.
    """

    digest: str
    failure_kinds: dict[str, dict[str, str]]
    methods: dict[str, dict[str, str]]


def variant_name(subset: frozenset[str]) -> str:
    """What the variant with these defects is called: their ids joined by `+`."""
    return "+".join(sorted(subset))


def has_defect(variant: str, defect: str) -> bool:
    """Whether the variant of that name has a defect put back."""
    return defect in variant.split("+")


def in_words(check: str) -> str:
    """What a check looks at: its id, read as words."""
    return re.sub(r"^test_", "", check).replace("_", " ")
