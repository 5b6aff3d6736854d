"""Editions: the contents of a course folder, and their effects on verdicts and pages.

The full edition is for instructors and has the reference. The sealed edition is for students: recorded answers
replace the reference, numbers replace the names of defects, and checks in Python run only when a file is handed in.
The other rooms call the methods of the exercise's edition; a new edition is one more class here.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Annotated, ClassVar

from msgspec import Meta, field

from grader.spec.fields import Index, Points, Record
from grader.spec.problem import Problem


class SealedDefect(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The public part of a defect."""

    points: Points
    """The points for fixing it."""
    stretch: bool = False
    """Whether its points are extra."""
    hints: tuple[str, str, str] = ("", "", "")
    """Three hints; empty in an edition without hints."""


class Edition(Record, frozen=True, kw_only=True, tag_field="kind"):
    """The behaviour of an edition; the full edition's by default."""

    HAS_REFERENCE: ClassVar[bool] = True
    """Whether the edition has the reference; otherwise it has recorded answers."""
    SHOWS_SOLUTION: ClassVar[bool] = True
    """Whether a student who has fixed everything may see the reference, and where the code comes from."""

    def sealed_defects(self) -> list[SealedDefect]:
        """Return the public parts of the defects; none if the exercise.yaml describes the defects itself."""
        return []

    def near_miss_hints(self) -> list[str]:
        """Return the hints of near misses; none if the exercise.yaml describes the near misses itself."""
        return []

    def sort_key(self, exercise_id: str, defect_id: str, *, stretch: bool) -> tuple[bool, bytes]:
        """Return the sort key by which defects are numbered: stretch defects last, otherwise in arbitrary order."""
        return stretch, sha256(f"{defect_id} of {exercise_id}".encode()).digest()

    def problems(self, *, defects: int, decoy: str) -> Iterator[Problem]:
        """Yield a problem if the number of defects in the exercise.yaml does not fit the edition."""
        if not defects and not decoy.strip():
            remedy = "write - id: swapped-axes and its other keys, or say under decoy what looks wrong and is right"
            yield Problem(path=("defects",), expected="at least one defect", found="none", remedy=remedy)

    def checks_note(self, *, run: int, described: int) -> str:
        """Return a note on how many checks were `run` of the `described` ones; empty if the edition runs all."""
        return ""

    def decides_at_hand_in(self, *, fails_a_check: bool) -> bool:
        """Return whether only a hand-in can decide a defect's status.

        `fails_a_check` says whether the defect alone fails a check that runs in this edition.
        """
        return False

    def word_for_fixed(self, word: str) -> str:
        """Return the word for a submission that passes every check that ran; `word` is the full edition's."""
        return word


class Full(Edition, frozen=True, kw_only=True, tag="full"):
    """The instructor's edition: description, reference and hidden checks."""


class Sealed(Edition, frozen=True, kw_only=True, tag="sealed"):
    """The student's edition: recorded answers replace the reference, and numbers the names of defects."""

    HAS_REFERENCE: ClassVar[bool] = False
    SHOWS_SOLUTION: ClassVar[bool] = False

    hidden_checks: Index
    """The number of checks that run only when a file is handed in."""
    defects: Annotated[list[SealedDefect], Meta(max_length=8)]
    """The public parts of the defects, in the order of their numbers."""
    near_misses: list[str] = field(default_factory=list)
    """The hints of known wrong fixes."""

    def sealed_defects(self) -> list[SealedDefect]:
        return self.defects

    def near_miss_hints(self) -> list[str]:
        return self.near_misses

    def sort_key(self, exercise_id: str, defect_id: str, *, stretch: bool) -> tuple[bool, bytes]:
        return False, b""

    def problems(self, *, defects: int, decoy: str) -> Iterator[Problem]:
        if defects:
            yield Problem(
                path=("edition",),
                expected="no edition beside defects",
                found="sealed",
                remedy="take it out; release writes it",
                at_key=True,
            )

    def checks_note(self, *, run: int, described: int) -> str:
        total = described + self.hidden_checks
        if run == total:
            return "All checks run on your machine. Your points come when you hand in."
        return f"{run} of {total} checks run here. The others, and your points, come when you hand in."

    def decides_at_hand_in(self, *, fails_a_check: bool) -> bool:
        return not fails_a_check

    def word_for_fixed(self, word: str) -> str:
        return f"{word}, as far as the checks here can tell" if self.hidden_checks else word


class Explained(Sealed, frozen=True, tag="explained"):
    """A student's edition of an exercise whose solution has been revealed."""

    SHOWS_SOLUTION: ClassVar[bool] = True


AnyEdition = Full | Sealed
