"""What a verdict changes: defects fixed and reopened, checks that pass now and fail now."""

from msgspec import Struct

from grader.course.records import Exercise
from grader.examiner.outcome import Status
from grader.student.hints import Hint
from grader.verdict.attribution import DefectStatus
from grader.verdict.causes import listed
from grader.verdict.verdict import Result, Verdict


class Change(Struct, frozen=True):
    """From one verdict to the next. Checks are told of by those that no defect explains: regressions, public checks."""

    fixed: list[str] = []
    reopened: list[str] = []
    passing: list[str] = []
    failing: list[str] = []

    def in_words(self, exercise: Exercise) -> str:
        """What changed, or that nothing did; defects are told by their numbers."""
        numbers = exercise.numbers()
        told = [f"defect {numbers[defect]} is fixed" for defect in self.fixed]
        told += [f"defect {numbers[defect]} is back" for defect in self.reopened]
        told += [f"right now: {listed(self.passing)}"] if self.passing else []
        told += [f"wrong now: {listed(self.failing)}"] if self.failing else []
        return " · ".join(told) or "no change"


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
    """A verdict on what was saved last, at a time of day; brief where no save asked for it, again if told before.

    `known` were fixed before, `first_seen` tells from which sizes on the others showed.
    """

    exercise: Exercise
    verdict: Verdict
    change: Change | None
    remark: str
    at: str
    is_brief: bool = False
    is_again: bool = False
    known: frozenset[str] = frozenset()
    first_seen: dict[str, str] = {}


class Waiting(Struct, frozen=True):
    """A judgement takes longer than usual; the file is a path in the course."""

    file: str


class Hinted(Struct, frozen=True):
    """A hint that was asked for."""

    hint: Hint


class Said(Struct, frozen=True):
    """A diff, or what keeps the kit from giving a verdict."""

    text: str


class Finished(Struct, frozen=True):
    """Every exercise is fixed."""


FIRST_IS_COMING = "The first verdict is on its way."

Event = Following | Judged | Waiting | Hinted | Said | Finished
