"""What the kit stores about a student's work on an exercise: progress, attempts, claims, answers in the guide."""

from typing import Annotated

from msgspec import Meta, Struct

from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result

LAST_SECOND = 253_402_300_799
"""The last second of the year 9999: a stored time outside it is damaged."""


class Attempt(Struct, frozen=True, kw_only=True):
    """One grading: its time (seconds since 1970), outcome and score, and how many of the defects were fixed.

    Fixed extras are counted separately.
    """

    at: Annotated[float, Meta(ge=0, le=LAST_SECOND)]
    outcome: Result
    score: float
    fixed: int
    defects: int
    extras: int = 0
    broken: int = 0
    """The number of failed checks that no defect explains."""

    def rank(self) -> tuple[bool, float, int, int]:
        """Return the sort key by which the best attempt is the largest."""
        return self.outcome is Result.FIXED, self.score, self.fixed, self.extras


class Claim(Struct, frozen=True, kw_only=True):
    """A student's claim that nothing is wrong, with the line that looked wrong."""

    at: Annotated[float, Meta(ge=0, le=LAST_SECOND)]
    line: int
    is_right: bool


class GuideRecord(Struct, frozen=True, kw_only=True):
    """The answers of a student in `guide`. Nothing here counts for a score."""

    started: Annotated[float, Meta(ge=0, le=LAST_SECOND)] = 0.0
    """When the guide was first used; 0 for never."""
    seed: int | None = None
    """The seed of the guide's inputs."""
    predictions: dict[str, bool] = {}
    """Whether the first answer to each question of the first card was right."""
    true_claims_before_edit: int = 0
    seconds_to_true_claim: float | None = None
    evidence: dict[str, bool] = {}
    """The claims whose answer the student called wrong, each with its answer."""
    contradicted: list[str] = []
    """The claims among these whose answer changed with the student's own fix."""


class Progress(Struct, frozen=True, kw_only=True):
    """The stored state of one exercise. `statuses`, `passed` and `checks` are from the last grading.

    `best` is the best grading of all, and the earliest if several are equally good. `failing_sizes` maps each defect to
    the sizes at which it last showed, in words. `listed` has the ids of the defects that some page has listed.
    """

    outcome: Result | None = None
    score: float = 0.0
    max_score: float = 0.0
    statuses: dict[str, DefectStatus] = {}
    hints_given: dict[str, int] = {}
    passed: int = 0
    checks: int = 0
    failing_sizes: dict[str, str] = {}
    listed: list[str] = []
    attempts: list[Attempt] = []
    best: Attempt | None = None
    claims: list[Claim] = []
    guide: GuideRecord = GuideRecord()
    seed: int | None = None
    """The seed of the last grading that a page showed."""
    trap_runs: int = 0
    """How often the student's trap ran."""

    def without_lessons(self) -> "Progress":
        """Return the progress for a page that explains every fixed defect, as if no page had explained any."""
        return Progress(listed=self.listed, attempts=self.attempts)

    def is_solved(self) -> bool:
        """Return whether the exercise was fixed once, whatever its file contains now."""
        return self.best is not None and self.best.outcome is Result.FIXED

    def fixed(self) -> set[str]:
        """Return the ids of the defects that the last grading found fixed."""
        return {defect for defect, status in self.statuses.items() if status is DefectStatus.FIXED}
