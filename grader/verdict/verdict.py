"""Make a verdict of outcomes and signatures: defects fixed, regressions, score. Pure functions."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from grader.checks.outcome import Examination, FailureKind, Finding, Key, Outcome, Status
from grader.spec.exercise import Exercise
from grader.submission import Submission, Unreadable, why_too_large
from grader.verdict.attribution import Attribution, DefectStatus, Reason, UnknownReason, attribute

FORMAT_VERSION = 1


class Result(StrEnum):
    """What a verdict comes to."""

    FIXED = "fixed"
    NOT_FIXED = "not_fixed"
    NOT_GRADABLE = "not_gradable"


WORDS = {
    DefectStatus.FIXED: "fixed",
    DefectStatus.PRESENT: "still there",
    DefectStatus.UNKNOWN: "not known",
}
"""What a status is called on every page and in every hint."""


class DefectVerdict(Struct, frozen=True, kw_only=True):
    """One defect's status and points; `reason` says why a status is unknown."""

    id: str
    status: DefectStatus
    points: float
    max_points: float
    stretch: bool
    reason: Reason | None = None


class Verdict(Struct, frozen=True, kw_only=True):
    """The result of judging a submission.

    `score` and `max_score` leave stretch defects out; `causes` names the present defects that explain a failed check;
    `unloadable` is the finding about a submission that cannot be graded; `seconds` are wall-clock.
    """

    exercise: str
    file: str
    outcome: Result
    reason: str | None
    score: float
    max_score: float
    seed: int
    defects: list[DefectVerdict]
    regressions: list[str]
    checks: list[Outcome]
    isolation: dict[str, bool]
    seconds: float
    causes: dict[str, list[str]] = {}
    unloadable: Finding | None = None

    def exit_code(self) -> int:
        """0 when every defect is fixed and nothing is broken, else 1."""
        return 0 if self.outcome is Result.FIXED else 1

    def is_right_so_far(self) -> bool:
        """Return whether every check passes, and some defects show only in checks that run at hand-in."""
        is_open = any(defect.status is DefectStatus.UNKNOWN for defect in self.defects)
        all_passed = all(outcome.status is Status.PASSED for outcome in self.checks)
        return self.outcome is Result.NOT_FIXED and is_open and all_passed


def make_verdict(exercise: Exercise, key: Key, examination: Examination, file: str, seed: int) -> Verdict:
    """Return the verdict on a submission that was examined."""
    if examination.unloadable is not None:
        return not_gradable(exercise, file, seed, examination.unloadable, examination)
    attribution = attribute(exercise, key, examination)
    defects = [
        DefectVerdict(
            id=defect.id,
            status=attribution.statuses[defect.id],
            points=defect.points if attribution.statuses[defect.id] is DefectStatus.FIXED else 0.0,
            max_points=defect.points,
            stretch=defect.stretch,
            reason=_reason(exercise, key, attribution, defect.id),
        )
        for defect in exercise.defects
    ]
    all_fixed = all(defect.status is DefectStatus.FIXED for defect in defects if not defect.stretch)
    is_whole = all_fixed and not attribution.regressions
    return Verdict(
        exercise=exercise.id,
        file=file,
        outcome=Result.FIXED if is_whole else Result.NOT_FIXED,
        reason=exercise.edition.checks_note(run=len(examination.outcomes), described=len(exercise.checks)),
        score=score_of(exercise, attribution.statuses, is_whole=is_whole),
        max_score=exercise.max_score(),
        seed=seed,
        defects=defects,
        regressions=attribution.regressions,
        checks=examination.outcomes,
        isolation=examination.isolation,
        seconds=examination.seconds,
        causes=attribution.causes,
    )


def _reason(exercise: Exercise, key: Key, attribution: Attribution, defect: str) -> Reason | None:
    """Return why a status is unknown; where nothing at home ever shows a defect, that is why."""
    reason = attribution.reasons.get(defect)
    if reason and exercise.edition.decides_at_hand_in(fails_a_check=bool(key.failure_kinds[defect])):
        return Reason(kind=UnknownReason.AT_HAND_IN)
    return reason


def score_of(exercise: Exercise, statuses: Mapping[str, DefectStatus], *, is_whole: bool) -> float:
    """Return the score in today's points. `is_whole` says that all defects are fixed and nothing else broke."""
    fixed = [defect for defect in exercise.defects if statuses.get(defect.id) is DefectStatus.FIXED]
    points = sum(defect.points for defect in fixed if not defect.stretch)
    return points + (exercise.nothing_else_broke if is_whole else 0.0)


def refuse(exercise: Exercise, read: Submission | Unreadable, file: str, seed: int) -> Verdict | None:
    """Return the verdict on a file without source, or with more than allowed; None if it can be examined."""
    if isinstance(read, Submission):
        too_large = why_too_large(read, exercise.limits.source_bytes)
        if too_large is None:
            return None
        read = too_large
    return not_gradable(exercise, file, seed, Finding(kind=FailureKind.UNREADABLE, message=read.reason))


def not_gradable(
    exercise: Exercise, file: str, seed: int, unloadable: Finding, examination: Examination | None = None
) -> Verdict:
    """Return the verdict on a submission of which no check could run."""
    defects = [
        DefectVerdict(
            id=defect.id,
            status=DefectStatus.UNKNOWN,
            points=0.0,
            max_points=defect.points,
            stretch=defect.stretch,
            reason=Reason(kind=UnknownReason.NO_CHECK_RAN),
        )
        for defect in exercise.defects
    ]
    where = f" ({unloadable.location})" if unloadable.location else ""
    return Verdict(
        exercise=exercise.id,
        file=file,
        outcome=Result.NOT_GRADABLE,
        reason=f"{unloadable}{where}",
        score=0.0,
        max_score=exercise.max_score(),
        seed=seed,
        defects=defects,
        regressions=[],
        checks=[],
        isolation=examination.isolation if examination else {},
        seconds=examination.seconds if examination else 0.0,
        unloadable=unloadable,
    )
