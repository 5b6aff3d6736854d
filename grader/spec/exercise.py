"""The records of an exercise.yaml. The docstrings of fields are the descriptions in the editors' schema."""

import typing
from collections.abc import Iterator
from enum import StrEnum
from itertools import combinations
from typing import Annotated

from msgspec import Meta, field, structs

from grader.spec.edition import AnyEdition, Full
from grader.spec.fields import (
    Duration,
    Fragments,
    Id,
    License,
    Link,
    Points,
    Record,
    Size,
    SizeCase,
    SizeCases,
    Text,
    as_list,
)
from grader.spec.interface import Interface
from grader.spec.properties import AnyProperty, KeepsDtype, Property


class AdaptedWork(Record, frozen=True, kw_only=True):
    """A published work whose logic the code keeps. The exercise's prose is its own."""

    work: Text
    """The work's name, such as the repository `owner/name`."""
    license: License
    """An SPDX identifier if the licence was read, `not stated` if the work states none, or `not looked up (why)`."""


class Source(
    Record, frozen=True, kw_only=True, omit_defaults=True
):  # an empty url would not be valid if it were read back from the cache
    """The public document that an exercise comes from."""

    title: Text
    """The document in a few words."""
    url: Link = ""
    """The document's address."""
    adapted_from: list[AdaptedWork] = field(default_factory=list)
    """The works that the code is adapted from, each with its licence."""


class UsualTest(Record, frozen=True, kw_only=True):
    """A test as in tutorials, which passes although the starter has the defect."""

    says: Text
    """What the test checks, as the end of a sentence: "the right shapes"."""
    test: AnyProperty
    """A property with its arguments."""


class Defect(Record, frozen=True, kw_only=True):
    """A fault of the starter, with the fragments in which the starter differs from the reference."""

    DISPLAY_ONLY = ("title", "points", "hints", "why", "missed_by")

    id: Id
    """The defect's name in verdicts."""
    title: Text
    """The fault in one line, in the past tense: students read it after they fixed the defect."""
    points: Points
    """The points for fixing it."""
    was: Fragments
    """A fragment that occurs exactly once in the starter: a part of a line or whole lines. Several make a list."""
    fix: Fragments
    """The fragment of the reference that replaces it, for each fragment of `was`."""
    hints: tuple[Text, Text, Text]
    """Three experiments for the student, such as two tensors to compare. Only the last hint names the place."""
    why: Text
    """Why the defect mattered and why nobody noticed it. Students read it after they fixed the defect."""
    stretch: bool = False
    """Whether its points are extra."""
    missed_by: list[UsualTest] = field(default_factory=list)
    """Usual tests that pass although the starter has the defect. Students read about them together with `why`."""

    def is_explained(self) -> bool:
        """Return whether the student's course explains it; a sealed edition does after the fix, or at the hand-in."""
        return bool(self.why)

    def edits(self) -> list[tuple[str, str]]:
        """Return the pairs of a `was` fragment and its `fix` fragment."""
        return list(zip(as_list(self.was), as_list(self.fix), strict=True))


class Equivalent(Record, frozen=True, kw_only=True):
    """A change of the reference, in one place, that no check can detect.

    `was` and `becomes` are whole lines without their indentation.
    """

    was: Text
    """The lines of the reference."""
    becomes: str
    """The lines after the change."""
    reason: Text
    """Why the two compute the same for every input."""


class NearMiss(Record, frozen=True, kw_only=True):
    """A known wrong fix of one defect. A submission that behaves like it gets the hint; the score does not change."""

    DISPLAY_ONLY = ("hint",)

    id: Id
    """The near miss's name, such as `zero-for-minus-infinity`."""
    defect: Id
    """The defect that it tries to fix."""
    was: Fragments
    """A fragment that occurs exactly once in the reference. Several make a list."""
    becomes: str | list[str]
    """What the wrong fix has in its place, for each fragment of `was`."""
    hint: Text
    """What this code does, and what to look at next. It never contains the fix."""

    def edits(self) -> list[tuple[str, str]]:
        """Return the pairs of a `was` fragment and what it becomes."""
        return list(zip(as_list(self.was), as_list(self.becomes), strict=True))


class Seconds(Record, frozen=True, kw_only=True):
    """Limits of wall-clock time, in seconds."""

    load: Duration = 6.0
    """The limit for loading a submission."""
    check: Duration = 5.0
    """The largest limit for one check.

    A check's own limit depends on the reference's time. Its minimum is in `grader/processes/deadlines.py`:
    `LEAST_CHECK_SECONDS`, or `LEAST_AFTER_A_HANG` once the submission has hung.
    """
    total: Duration = 8.0
    """The limit for the submission as a whole."""


class Limits(Record, frozen=True, kw_only=True):
    """The resources that a submission may use."""

    seconds: Seconds = Seconds()
    """Limits of wall-clock time."""
    memory_mb: Size = 2048
    """The limit of memory, in megabytes."""
    output_bytes: Size = 1_000_000
    """The limit of printed output, in bytes."""


class Announcement(StrEnum):
    """What students are promised about the defects before they find them."""

    COUNT = "count"  # how many there are, and the points of each
    NOTHING = "nothing"


EDITION_KEYS = ("edition",)
"""Keys that `release` writes and authors do not."""

MAX_BESIDE = 2
"""If there are at most this many other defects, a near miss is recognized beside any subset of them."""


def near_miss_id(number: int) -> str:
    """Return the id of a near miss in an edition that does not name it."""
    return f"near-miss-{number}"


class Exercise(Record, frozen=True, kw_only=True):
    """An exercise: its story, interface, size cases, defects and checks."""

    DISPLAY_ONLY = (
        *("title", "difficulty", "theme", "source", "story", "nothing_else_broke", "equivalents"),
        *("decoy", "announces", *EDITION_KEYS, "variations"),
    )

    id: str
    """The name of the folder."""
    format_version: typing.Literal[1]
    """The version of the file format."""
    title: Text
    """One line for the list of hunts: the symptom, not its cause."""
    difficulty: Annotated[int, Meta(ge=1, le=5)]
    """From 1, a first hunt, to 5."""
    source: Source
    """The document that the code comes from."""
    story: Text
    """One paragraph: who wrote the code and what they noticed."""
    interface: Interface
    """What a submission must offer; a fix must not change it."""
    sizes: SizeCases
    """The size cases of every check, smallest first. The sizes of a case must differ; 1 may repeat."""
    defects: Annotated[list[Defect], Meta(max_length=8)]
    """The faults of the starter. With a `decoy`, the list may be empty."""
    nothing_else_broke: Annotated[float, Meta(ge=0, le=1000)]
    """The points for a fix that breaks nothing else."""
    checks: list[AnyProperty]
    """Built-in properties with their arguments. Checks that need Python are in `tests/hidden/`."""
    limits: Limits = Limits()
    """The resources that a submission may use."""
    equivalents: list[Equivalent] = field(default_factory=list)
    """Changes of the reference that no check can detect, each with its reason."""
    near_misses: list[NearMiss] = field(default_factory=list)
    """Known wrong fixes, each with a hint of its own."""
    theme: str = ""
    """The exercise's heading in the list of hunts. Exercises without a theme come last."""
    decoy: str = ""
    """What looks wrong in the starter but is right, and why. Students read it once everything is right."""
    announces: Announcement = Announcement.NOTHING
    """Whether students learn the number of defects, or only about those that they find."""
    edition: AnyEdition = Full()
    """The edition of the course folder."""
    variations: dict[str, str] = field(default_factory=dict)
    """The source of each class in `variations.py`."""

    @property
    def fixed_sizes(self) -> list[dict[str, int]]:
        """The size cases before the first random one."""
        fixed = self.sizes[: self._first_random()]
        return [{name: size for name, size in case.items() if isinstance(size, int)} for case in fixed]

    def fixed_sizes_of(self, check: Property) -> list[dict[str, int]]:
        """Return the fixed size cases of a check: its own, or those of the exercise."""
        return check.sizes or self.fixed_sizes

    @property
    def random_sizes(self) -> list[SizeCase]:
        """The first size case with a range, and all cases after it. Their sizes change with each run."""
        return self.sizes[self._first_random() :]

    @property
    def is_precise(self) -> bool:
        """Return whether float64 inputs must be computed in float64; the precision of float32 suffices otherwise."""
        return any(isinstance(check, KeepsDtype) and check.in_float64() for check in self.checks)

    def _first_random(self) -> int:
        return next(
            (index for index, case in enumerate(self.sizes) if any(isinstance(size, list) for size in case.values())),
            len(self.sizes),
        )

    def max_score(self) -> float:
        """Return the sum of all points without those of stretch defects."""
        return self.nothing_else_broke + sum(defect.points for defect in self.defects if not defect.stretch)

    def numbers(self) -> dict[str, int]:
        """Return the number by which students know each defect, keyed by id; stretch defects come last."""

        def order(defect: Defect) -> tuple[bool, bytes]:
            return self.edition.sort_key(self.id, defect.id, stretch=defect.stretch)

        return {defect.id: number for number, defect in enumerate(sorted(self.defects, key=order), 1)}

    def with_placeholders(self) -> "Exercise":
        """Return the exercise with a placeholder for each defect of a sealed edition; its id is its number."""
        placeholders = [
            Defect(
                id=str(number),
                title="explained when you hand in",
                points=sealed.points,
                was=[],
                fix=[],
                hints=sealed.hints,
                why="",
                stretch=sealed.stretch,
            )
            for number, sealed in enumerate(self.edition.sealed_defects(), 1)
        ]
        near_misses = [
            NearMiss(id=near_miss_id(number), defect="", was=[], becomes=[], hint=hint)
            for number, hint in enumerate(self.edition.near_miss_hints(), 1)
        ]
        return structs.replace(self, defects=placeholders, near_misses=near_misses) if placeholders else self

    def subsets(self) -> Iterator[frozenset[str]]:
        """Yield every subset of the defects' ids, smaller subsets first."""
        ids = [defect.id for defect in self.defects]
        for size in range(len(ids) + 1):
            yield from map(frozenset, combinations(ids, size))

    def near_miss_variants(self) -> Iterator[tuple[NearMiss, frozenset[str]]]:
        """Yield each near miss with the sets of other defects beside which it is recognized.

        If there are more than `MAX_BESIDE` other defects, these are the empty set and the set of all others.
        """
        for near_miss in self.near_misses:
            others = frozenset(each.id for each in self.defects) - {near_miss.defect}
            for subset in self.subsets():
                if subset <= others and (len(others) <= MAX_BESIDE or not subset or subset == others):
                    yield near_miss, subset
