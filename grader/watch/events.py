"""What a verdict changes: defects fixed and reopened, checks that pass now and fail now."""

from msgspec import Struct

from grader.course.records import Exercise
from grader.examiner.outcome import Status
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Result, Verdict


class Change(Struct, frozen=True):
    """From one verdict to the next. Checks are told of by those that no defect explains: regressions, public checks."""

    fixed: list[str] = []
    reopened: list[str] = []
    passing: list[str] = []
    failing: list[str] = []

    def in_words(self) -> str:
        """What changed, or that nothing did."""
        told = {
            "fixed": self.fixed,
            "reopened": self.reopened,
            "passes now": self.passing,
            "fails now": self.failing,
        }
        return " · ".join(f"{word}: {', '.join(ids)}" for word, ids in told.items() if ids) or "no change"


def compare(statuses: dict[str, DefectStatus], before: Verdict | None, verdict: Verdict) -> Change:
    """What the verdict changes of the statuses last known, and of the verdict before it where that could be graded."""
    if verdict.outcome is Result.NOT_GRADABLE:
        return Change()
    now = {defect.id: defect.status for defect in verdict.defects}
    fixed = [
        defect
        for defect, status in now.items()
        if status is DefectStatus.FIXED and statuses.get(defect, status) is not DefectStatus.FIXED
    ]
    reopened = [
        defect
        for defect, status in now.items()
        if status is DefectStatus.PRESENT and statuses.get(defect) is DefectStatus.FIXED
    ]
    if before is None:
        return Change(fixed, reopened)
    failing, failed = _unexplained(verdict), _unexplained(before)
    return Change(fixed, reopened, sorted(failed - failing), sorted(failing - failed))


def _unexplained(verdict: Verdict) -> set[str]:
    if verdict.defects:
        return set(verdict.regressions)
    return {outcome.check for outcome in verdict.checks if outcome.status is not Status.PASSED}


class Following(Struct, frozen=True):
    """From now on this exercise is followed; its file is a path in the course."""

    exercise: Exercise
    file: str
    is_next: bool


class Judged(Struct, frozen=True):
    """A verdict on what was saved last, at a time of day; brief where no save asked for it, again if told before."""

    exercise: Exercise
    verdict: Verdict
    change: Change | None
    remark: str
    at: str
    is_brief: bool = False
    is_again: bool = False


class Said(Struct, frozen=True):
    """A hint, a diff, or what keeps the kit from giving a verdict."""

    text: str


class Finished(Struct, frozen=True):
    """Every exercise is fixed."""


Event = Following | Judged | Said | Finished
