"""The results of proofs: the steps of each exercise, and its mutants."""

from enum import StrEnum

from msgspec import Struct

from grader.author.differential import ROUNDS
from grader.author.mutants import Mutant
from grader.author.output_shapes import Correction


class MutantStatus(StrEnum):
    """Whether and how the checks caught a mutant."""

    VALUE = "value"
    CRASH = "crash"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step of a proof. It succeeds if there are no problems.

    `figures` is the number of cases, for the table. Each problem or warning says what is wrong and what to do.
    """

    name: str
    figures: str = ""
    problems: list[str] = []
    warnings: list[str] = []
    correction: Correction | None = None

    def holds(self) -> bool:
        return not self.problems


class Survivor(Struct, frozen=True, kw_only=True):
    """A mutant that passes every check, and the results of trying to catch it.

    `checks` are YAML checks that the reference passes and the mutant fails, if any are known. `difference` describes
    how the mutant differed from the reference in further calls; it is empty if they never differed.
    """

    mutant: Mutant
    advice: str
    checks: str = ""
    difference: str = ""
    is_comparable: bool = True
    """Whether the reference passes its checks; otherwise nothing was tried."""

    def is_equivalent(self) -> bool:
        """Return whether the mutant never differed from a reference that passes its checks."""
        return self.is_comparable and not self.checks and not self.difference

    def remedy(self) -> str:
        """Return the remedy; if there are `checks`, they follow it."""
        if not self.is_comparable:
            return "correct the reference or its checks first: advice needs a reference that passes"
        if self.checks:
            return "no check reaches this line; add these under checks and review their values:"
        if self.difference:
            return f"{self.difference}; add a check of this call, for example {self.advice}"
        return f"it never differed from the reference in {ROUNDS} random calls"


STEPS = {
    "sources": "sources",
    "points": "points",
    "scores": "scores",
    "attribution": "subsets",
    "alternatives": "right fixes",
    "near misses": "near misses",
    "rewrites": "rewrites",
    "equivalents": "declared",
    "usual tests": "missed by",
    "model trap": "trap",
}
"""The steps with their headings in the table."""

ALWAYS_DONE = {"sources", "points", "equivalents"}
"""Steps that take no time, so that they are not recorded."""


class Record(Struct, frozen=True, kw_only=True):
    """The results of a successful proof, stored beside its exercise. `digest` covers everything that they depend on."""

    digest: str
    steps: list[Step]
    statuses: dict[MutantStatus, int]

    def is_sound(self, digest: str, mutants: int) -> bool:
        """Return whether this is a complete and successful proof for the same digest and number of mutants."""
        return (
            self.digest == digest
            and sum(self.statuses.values()) == mutants
            and not self.statuses.get(MutantStatus.SURVIVED)
            and {step.name for step in self.steps} == STEPS.keys() - ALWAYS_DONE
            and all(step.holds() for step in self.steps)
        )


class Proof(Struct, frozen=True, kw_only=True):
    """The proof of one exercise. It is `recorded` if an earlier run found its results."""

    exercise: str
    steps: list[Step]
    statuses: dict[MutantStatus, int]
    """The number of mutants by status; empty if no mutant was tried."""
    survivors: list[Survivor]
    recorded: bool = False
    is_described: bool = True
    """Whether the description could be read; otherwise the proof has one step."""

    def mutants(self) -> int:
        return sum(self.statuses.values())

    def holds(self) -> bool:
        return not self.survivors and all(step.holds() for step in self.steps)
