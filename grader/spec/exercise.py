"""The records an exercise.yaml becomes."""

import typing
from collections.abc import Iterator
from itertools import combinations
from typing import Annotated

from msgspec import Meta, field, structs

from grader.spec.edition import AnyEdition, Full
from grader.spec.fields import (
    Duration,
    Fragments,
    Id,
    Link,
    Points,
    Record,
    Size,
    SizeCase,
    SizeCases,
    Text,
)
from grader.spec.interface import Interface
from grader.spec.properties import AnyProperty


class Source(
    Record, frozen=True, kw_only=True, omit_defaults=True
):  # no url is none, not an empty one, when it is remembered too
    """The public document an exercise comes from."""

    title: Text
    """What it is, in a few words."""
    url: Link = ""
    """Where it is."""


class UsualTest(Record, frozen=True, kw_only=True):
    """A test as a tutorial has it, which passes in spite of a defect."""

    says: Text
    """What it shows to be right, as the end of a sentence."""
    test: AnyProperty
    """The test: a property with its arguments."""


class Defect(Record, frozen=True, kw_only=True):
    """One real fault of the starter, with the fragments that tell starter from reference."""

    ONLY_SHOWN = ("title", "points", "hints", "why", "missed_by")

    id: Id
    """Names the defect in verdicts."""
    title: Text
    """What was wrong, in one line, told as past: it is shown once it is fixed."""
    points: Points
    """What fixing it is worth."""
    was: Fragments
    """The fragment as the starter has it, once: a part of a line or whole lines; a list where there are several."""
    fix: Fragments
    """What stands in its place in the reference, once; one for each fragment of `was`."""
    hints: tuple[Text, Text, Text]
    """Three steps to take on this very module: run this, compare these two tensors; only the last names the place."""
    why: Text
    """Why it mattered and what hid it, the tutorial's own run for one; shown once it is fixed."""
    stretch: bool = False
    """Whether its points are extra."""
    missed_by: list[UsualTest] = field(default_factory=list)
    """Usual tests that pass on the starter all the same; told with `why`, once it is fixed."""

    def story(self) -> str:
        """Why it mattered, and which of the usual tests passed all the same."""
        told, passed = " ".join(self.why.split()), self.missed()
        return f"{told} The usual tests passed: {passed}." if passed else told

    def missed(self) -> str:
        """What the usual tests look at that passed all the same."""
        return "; ".join(" ".join(each.says.split()) for each in self.missed_by)

    def edits(self) -> list[tuple[str, str]]:
        """Pairs of (was, fix)."""
        was = [self.was] if isinstance(self.was, str) else self.was
        fix = [self.fix] if isinstance(self.fix, str) else self.fix
        return list(zip(was, fix, strict=True))


class Equivalent(Record, frozen=True, kw_only=True):
    """A change of one place of the reference that no check can see: its lines before and after, and why.

    `was` and `becomes` are the whole lines, indentation aside.
    """

    was: Text
    """The lines as the reference has them."""
    becomes: str
    """The lines after the change."""
    reason: Text
    """Why no input can tell the two apart."""


class Seconds(Record, frozen=True, kw_only=True):
    """Wall-clock limits, in seconds: for loading a submission, for one check, for everything."""

    load: Duration = 6.0
    """For loading a submission."""
    check: Duration = 5.0
    """The most for one check; fewer, and at least one, follow from what the reference takes."""
    total: Duration = 6.0
    """For everything."""


class Limits(Record, frozen=True, kw_only=True):
    """What a submission may use."""

    seconds: Seconds = Seconds()
    """Wall-clock limits."""
    memory_mb: Size = 2048
    """Memory, in megabytes."""
    output_bytes: Size = 1_000_000
    """What it may print."""
    source_bytes: Size = 1_000_000
    """How long its text may be."""


EDITION_KEYS = ("edition",)
"""Keys that no author writes: releasing an edition does."""

SEALED_TITLE = "what it was is explained when you hand in"


class Exercise(Record, frozen=True, kw_only=True):
    """A story, a starter, a reference, defects and checks, under one id."""

    ONLY_SHOWN = (
        *("title", "difficulty", "theme", "source", "story", "nothing_else_broke", "equivalents"),
        *("decoy", *EDITION_KEYS),
    )

    id: str
    """The name of the folder."""
    format_version: typing.Literal[1]
    """The version of this format."""
    title: Text
    """One line for the list: what people notice, not its cause."""
    difficulty: Annotated[int, Meta(ge=1, le=5)]
    """From 1, a first hunt, to 5."""
    source: Source
    """Where the code comes from."""
    story: Text
    """One paragraph: who wrote it and what they noticed."""
    interface: Interface
    """What a fix must keep."""
    sizes: SizeCases
    """The size cases of every check, smallest first; all sizes of one but ones are distinct. The last may be random."""
    defects: Annotated[list[Defect], Meta(max_length=8)]
    """The faults of the starter; none where all that looks wrong is a decoy."""
    nothing_else_broke: Annotated[float, Meta(ge=0, le=1000)]
    """The points for a fix that breaks nothing else."""
    checks: list[AnyProperty]
    """The hidden tests that need no Python: built-in properties with their arguments."""
    limits: Limits = Limits()
    """What a submission may use."""
    equivalents: list[Equivalent] = field(default_factory=list)
    """Changes of the reference that no check can see, each with its reason."""
    theme: str = ""
    """The heading in the list under which it stands: what its code is; none for the end of the list."""
    decoy: str = ""
    """What in the starter looks wrong and is right, and why; told once everything is right."""
    edition: AnyEdition = Full()
    """What this folder contains of the exercise."""

    @property
    def fixed_sizes(self) -> list[dict[str, int]]:
        """The size cases before the first random one."""
        fixed = self.sizes[: self._first_random()]
        return [{name: size for name, size in case.items() if isinstance(size, int)} for case in fixed]

    @property
    def random_sizes(self) -> list[SizeCase]:
        """The size cases from the first one with a range on, whose sizes are random in each run."""
        return self.sizes[self._first_random() :]

    def _first_random(self) -> int:
        return next(
            (index for index, case in enumerate(self.sizes) if any(isinstance(size, list) for size in case.values())),
            len(self.sizes),
        )

    def max_score(self) -> float:
        """All points but those of stretch defects."""
        return self.nothing_else_broke + sum(d.points for d in self.defects if not d.stretch)

    def numbers(self) -> dict[str, int]:
        """Return the numbers by which students know the defects, by id; extras come last."""

        def order(defect: Defect) -> tuple[bool, bytes]:
            return self.edition.sort_key(self.id, defect.id, stretch=defect.stretch)

        return {defect.id: number for number, defect in enumerate(sorted(self.defects, key=order), 1)}

    def has_hints(self) -> bool:
        """Whether there is a step to give."""
        return any(defect.hints[0] for defect in self.defects)

    def with_placeholders(self) -> "Exercise":
        """Return the exercise with a defect, named by its number, for each that the edition seals."""
        placeholders = [
            Defect(
                id=str(number),
                title=SEALED_TITLE,
                points=sealed.points,
                was=[],
                fix=[],
                hints=sealed.hints,
                why="",
                stretch=sealed.stretch,
            )
            for number, sealed in enumerate(self.edition.sealed_defects(), 1)
        ]
        return structs.replace(self, defects=placeholders) if placeholders else self

    def subsets(self) -> Iterator[frozenset[str]]:
        """Every subset of the defects' ids, the empty one first: the signatures."""
        ids = [defect.id for defect in self.defects]
        for size in range(len(ids) + 1):
            yield from map(frozenset, combinations(ids, size))
