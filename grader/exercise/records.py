"""The records an exercise.yaml becomes."""

from collections.abc import Iterator
from itertools import combinations

from msgspec import Struct, field

from grader.exercise.checks import Literal, MaskInput, Property, Shape

Ladder = list[dict[str, int]]


class Record(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of an exercise's description; unknown keys are refused."""


class Source(Record, frozen=True):
    """The public document an exercise comes from."""

    title: str
    url: str = ""


class Interface(Record, frozen=True):
    """What a submission must offer: a class, how it is built, what goes in, what comes out."""

    class_name: str = field(name="class")
    constructor: dict[str, Literal]
    inputs: dict[str, Shape | MaskInput | Literal]
    outputs: list[Shape]


class Defect(Record, frozen=True):
    """One real fault of the starter, with the fragments that tell starter from reference."""

    id: str
    title: str
    points: float
    was: str | list[str]
    fix: str | list[str]
    hints: tuple[str, str, str]
    why: str
    stretch: bool = False

    def edits(self) -> list[tuple[str, str]]:
        """Pairs of (was, fix)."""
        was = [self.was] if isinstance(self.was, str) else self.was
        fix = [self.fix] if isinstance(self.fix, str) else self.fix
        return list(zip(was, fix, strict=True))


class Equivalent(Record, frozen=True):
    """A change of one place of the reference that no check can see: its lines before and after, and why.

    `was` and `becomes` are the whole lines, indentation aside.
    """

    was: str
    becomes: str
    reason: str


class Seconds(Record, frozen=True):
    """Wall-clock limits, in seconds: for loading a submission, for one check, for everything."""

    load: float = 10.0
    check: float = 5.0
    total: float = 20.0


class Limits(Record, frozen=True):
    """What a submission may use."""

    seconds: Seconds = Seconds()
    memory_mb: int = 2048
    output_bytes: int = 1_000_000
    source_bytes: int = 1_000_000


class Exercise(Record, frozen=True):
    """A story, a starter, a reference, defects and checks, under one id.

    A student edition's description has no defects. It says how many `hidden_checks` it leaves out and what there is to
    be earned in all (`total_points`), and gives `hints` where the edition was made with them.
    """

    id: str
    format_version: int
    title: str
    difficulty: int
    source: Source
    story: str
    interface: Interface
    ladder: Ladder
    defects: list[Defect]
    nothing_else_broke: float
    checks: list[Property]
    limits: Limits = Limits()
    equivalents: list[Equivalent] = []
    hidden_checks: int = 0
    total_points: float = 0.0
    hints: list[tuple[str, str, str]] = []

    def is_public(self) -> bool:
        """Whether this is what a student edition tells: no defects, and only the checks that need no reference."""
        return self.total_points > 0

    def max_score(self) -> float:
        """All points but those of stretch defects."""
        if self.is_public():
            return self.total_points
        return self.nothing_else_broke + sum(d.points for d in self.defects if not d.stretch)

    def subsets(self) -> Iterator[frozenset[str]]:
        """Every subset of the defects' ids, the empty one first: the lattice."""
        ids = [defect.id for defect in self.defects]
        for size in range(len(ids) + 1):
            yield from map(frozenset, combinations(ids, size))
