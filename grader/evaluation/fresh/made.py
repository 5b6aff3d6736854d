"""A fresh hunt that was kept: what it was made from, its reference, its defects, and how its variants fail."""

from msgspec import Struct

from grader.spec.exercise import Exercise
from grader.spec.fragments import put_back


class Origin(Struct, frozen=True, kw_only=True):
    """What a hunt was made from."""

    base: str
    """The exercise whose interface and checks it has."""
    file: str
    """The right solution that was rewritten."""
    rules: list[str]
    """The rules that rewrote it."""
    operators: list[str] = []
    """The operator of each defect."""


class Made(Struct, frozen=True, kw_only=True):
    """A hunt that was kept."""

    origin: Origin
    reference: str
    exercise: Exercise
    signatures: dict[str, dict[str, str]]
    methods: dict[str, dict[str, str]]
    symptoms: list[str]
    """The checks' findings on the starter, in sentences."""

    def starter(self) -> str:
        """Return the reference with every defect put back."""
        return put_back(self.reference, self.exercise.defects)


class Report(Struct, frozen=True, kw_only=True):
    """The hunt that was written. `dropped` counts the drafts that were dropped so far, by the reason."""

    exercise: str
    dropped: dict[str, int]
