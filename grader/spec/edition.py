"""Editions: what a course folder contains of its exercises, and how that shows in verdicts and on pages.

The full edition is the instructor's: it has the reference. The sealed edition is the student's: recorded answers
replace the reference, defects are numbers, and the checks in Python run only when a file is handed in. Every stage
asks the exercise's edition; a new edition is one more class here.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Annotated, ClassVar

from msgspec import Meta

from grader.spec.fields import Index, Points, Record
from grader.spec.problem import Problem


class SealedDefect(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a student may know of a defect."""

    points: Points
    """What fixing it is worth."""
    stretch: bool = False
    """Whether its points are extra."""
    hints: tuple[str, str, str] = ("", "", "")
    """Three steps to take; empty in an edition without hints."""


class Edition(Record, frozen=True, kw_only=True, tag_field="kind"):
    """What editions have in common, as the full one has it."""

    HAS_REFERENCE: ClassVar[bool] = True
    """Whether the reference is there to be asked; otherwise its recorded answers are."""
    REVEALS_TITLES: ClassVar[bool] = True
    """Whether pages give the title of a defect that is fixed."""

    def sealed_defects(self) -> list[SealedDefect]:
        """Return what is known of the defects where the description leaves them out."""
        return []

    def sort_key(self, exercise_id: str, defect_id: str, *, stretch: bool) -> tuple[bool, bytes]:
        """Return what defects are sorted by before they are numbered: extras last, otherwise as good as random."""
        return stretch, sha256(f"{defect_id} of {exercise_id}".encode()).digest()

    def problems(self, *, defects: int, decoy: str) -> Iterator[Problem]:
        """Yield what is wrong with the number of defects that the description has."""
        if not defects and not decoy.strip():
            remedy = "write - id: swapped-axes and its other keys, or say under decoy what looks wrong and is right"
            yield Problem(("defects",), "at least one defect", "none", remedy)

    def checks_note(self, *, run: int, described: int) -> str | None:
        """Return a note on the checks that ran, of so many `described` ones; None if a verdict needs none."""
        return None

    def reason_unknown(self, reason: str, *, fails_a_check: bool) -> str:
        """Return why it is unknown whether a defect is fixed; `fails_a_check` if left alone it fails a check here."""
        return reason

    def word_for_fixed(self, word: str) -> str:
        """Return what a verdict of the checks that ran may call a submission in which nothing is wrong."""
        return word

    def next_step(self, exercise_id: str, *, has_defects: bool) -> str:
        """Return what a student does once everything is fixed."""
        compare = f"python -m grader solution {exercise_id} shows your change beside the reference's; "
        return f"{compare if has_defects else ''}python -m grader names the next hunt."

    def credits(self, title: str, url: str) -> str:
        """Return where the code comes from, as told once everything is fixed; empty if it is not told."""
        return (
            f"It comes from {title}{f': {url}' if url else '.'}"  # no dot after an address: terminals would include it
        )


class Full(Edition, frozen=True, tag="full"):
    """The instructor's edition: description, reference and hidden checks."""


class Sealed(Edition, frozen=True, tag="sealed"):
    """The student's edition: recorded answers replace the reference, and defects are known by their numbers."""

    HAS_REFERENCE: ClassVar[bool] = False
    REVEALS_TITLES: ClassVar[bool] = False

    hidden_checks: Index
    """How many checks run only when a file is handed in."""
    defects: Annotated[list[SealedDefect], Meta(max_length=8)]
    """The defects in the order of their numbers."""

    def sealed_defects(self) -> list[SealedDefect]:
        return self.defects

    def sort_key(self, exercise_id: str, defect_id: str, *, stretch: bool) -> tuple[bool, bytes]:
        return False, b""

    def problems(self, *, defects: int, decoy: str) -> Iterator[Problem]:
        if defects:
            yield Problem(
                ("edition",), "no edition beside defects", "sealed", "take it out; release writes it", at_key=True
            )

    def checks_note(self, *, run: int, described: int) -> str | None:
        total = described + self.hidden_checks
        if run == total:
            return "All checks run on your machine. Points and explanations come when you hand in"
        return f"{run} of {total} checks run here. The others, points and explanations come when you hand in"

    def reason_unknown(self, reason: str, *, fails_a_check: bool) -> str:
        return reason if fails_a_check or not reason else "only checks that run when you hand in can tell"

    def word_for_fixed(self, word: str) -> str:
        return f"{word}, as far as the checks here can tell"

    def next_step(self, exercise_id: str, *, has_defects: bool) -> str:
        return "hand it in as your course asks; python -m grader names the next hunt."

    def credits(self, title: str, url: str) -> str:
        return ""


AnyEdition = Full | Sealed
