"""Records that are shown beside verdicts: progress, hints, past verdicts, the state of a machine."""

from msgspec import Struct

from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result


class Attempt(Struct, frozen=True):
    """One grading: its time (seconds since 1970), its outcome, and the number of fixed defects."""

    at: float
    outcome: Result
    score: float
    fixed: int
    defects: int


class Progress(Struct, frozen=True):
    """The stored state of one exercise. `statuses`, `passed` and `checks` are from the last grading.

    `first_seen` says with which sizes a defect showed when it was last seen.
    """

    outcome: Result | None = None
    score: float = 0.0
    max_score: float = 0.0
    statuses: dict[str, DefectStatus] = {}
    hints_given: dict[str, int] = {}
    passed: int = 0
    checks: int = 0
    first_seen: dict[str, str] = {}
    attempts: list[Attempt] = []

    def fixed(self) -> set[str]:
        """The defects that the last grading found fixed."""
        return {defect for defect, status in self.statuses.items() if status is DefectStatus.FIXED}


class Hint(Struct, frozen=True):
    """A hint: its subject, the steps so far, the number of steps, and the next action.

    `doubt` says why they may not be needed.
    """

    about: str
    steps: list[str]
    total: int
    after: str = ""
    doubt: str = ""


class HostState(Struct, frozen=True):
    """One thing looked at on this machine: whether it is as it should be, what was seen, and what to do otherwise."""

    name: str
    is_well: bool
    seen: str
    remedy: str = ""


class PastVerdict(Struct, frozen=True):
    """One verdict; without a score where it was not judged. `regraded_for` is the reason of a regrade."""

    exercise: str
    judged_at: str
    outcome: str
    score: float | None
    max_score: float | None
    reason: str
    digest: str
    file: str
    seed: int
    kit: str
    regraded_for: str
