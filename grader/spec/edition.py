"""Editions: the contents of a course folder, and their effects on verdicts and pages.

The full edition is for instructors and has the reference. The sealed edition is for students: recorded answers
replace the reference, numbers replace the names of defects, and checks in Python run only when a file is handed in.
The other rooms call the methods of the exercise's edition. A new edition is one more class here, and an option of
`release` that chooses it.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Annotated, ClassVar, Self

from msgspec import Meta, field, structs

from grader.spec.fields import Index, Points, Record
from grader.spec.problem import Problem

NO_HINTS = ("", "", "")


class SealedDefect(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The public part of a defect."""

    points: Points
    """The points for fixing it."""
    stretch: bool = False
    """Whether its points are extra."""
    hints: tuple[str, str, str] = NO_HINTS
    """Three hints; empty in an edition without hints."""


class Edition(Record, frozen=True, kw_only=True, tag_field="kind"):
    """The behaviour of an edition; the full edition's by default."""

    HAS_REFERENCE: ClassVar[bool] = True
    """Whether the edition has the reference; otherwise it has recorded answers."""

    def gives_hints(self) -> bool:
        """Return whether students can ask for hints."""
        return True

    def shows_solution(self) -> bool:
        """Return whether a student who has fixed everything may see the reference, and where the code comes from."""
        return True

    def revealed(self) -> Self:
        """Return the edition of an exercise whose solution a student's fix has revealed."""
        return self

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


class Sealed(Edition, frozen=True, kw_only=True, omit_defaults=True, tag="sealed"):
    """The student's edition: recorded answers replace the reference, and numbers the names of defects."""

    HAS_REFERENCE: ClassVar[bool] = False

    has_hints: bool = True
    """Whether the edition hands out hints, of defects and of near misses."""
    explains_at_home: bool = True
    """Whether a student's fix opens the explanation of a defect. If not, defects are explained after the hand-in."""
    hidden_checks: Index = 0
    """The number of checks that run only when a file is handed in."""
    defects: Annotated[list[SealedDefect], Meta(max_length=8)] = field(default_factory=list)
    """The public parts of the defects, in the order of their numbers."""
    near_misses: list[str] = field(default_factory=list)
    """The hints of known wrong fixes."""
    is_revealed: bool = False
    """Whether a student's fix has revealed the solution; set when the exercise is loaded, never in a file."""

    def of_exercise(self, *, hidden_checks: int, defects: list[SealedDefect], near_misses: list[str]) -> Self:
        """Return this edition of an exercise, with the parts of the exercise that the edition hands out."""
        if not self.has_hints:
            defects = [structs.replace(defect, hints=NO_HINTS) for defect in defects]
            near_misses = []
        return structs.replace(self, hidden_checks=hidden_checks, defects=defects, near_misses=near_misses)

    def gives_hints(self) -> bool:
        return self.has_hints

    def shows_solution(self) -> bool:
        return self.is_revealed

    def revealed(self) -> Self:
        return structs.replace(self, is_revealed=True)

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


AnyEdition = Full | Sealed
