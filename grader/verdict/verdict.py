"""Make a verdict from outcomes and the key: defects fixed, regressions, score. Pure functions."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeGuard

from msgspec import Struct, structs

from grader.checks.outcome import Examination, FailureKind, Finding, Outcome, Status
from grader.errors import KitError
from grader.spec.exercise import Defect, Exercise
from grader.submission import Submission, Unreadable, why_too_large
from grader.verdict.attribution import Attribution, DefectStatus, Reason, UnknownReason, VariantComparison, attribute

FORMAT_VERSION = 1


class Result(StrEnum):
    """The overall result of a verdict."""

    FIXED = "fixed"
    NOT_FIXED = "not_fixed"
    NOT_GRADABLE = "not_gradable"
    NOT_JUDGED = "not_judged"  # the kit could not judge the submission


class DefectVerdict(Struct, frozen=True, kw_only=True):
    """One defect's status and points.

    `number` is the number by which students know the defect; 0 if it comes from a gradebook, which stores no numbers.
    `reason` says why a status is unknown.
    """

    id: str
    number: int = 0
    status: DefectStatus
    points: float
    max_points: float
    stretch: bool
    reason: Reason | None = None


class Verdict(Struct, frozen=True, kw_only=True):
    """The result of judging a submission.

    `reason` says why no check could run. `score` and `max_score` exclude stretch defects. `causes` lists, by failed
    check, the present defects that explain it. `unloadable` is the finding about a submission that cannot be graded.
    `near_miss` is the id of the near miss that the submission behaves like. `seconds` is wall-clock time. A submission
    that the kit could not judge has no score.
    """

    exercise: str
    file: str
    outcome: Result
    reason: str | None
    score: float | None
    max_score: float
    seed: int
    defects: list[DefectVerdict]
    regressions: list[str]
    checks: list[Outcome]
    isolation: dict[str, bool]
    seconds: float
    causes: dict[str, list[str]] = {}
    unloadable: Finding | None = None
    near_miss: str = ""

    def judged_score(self) -> float:
        """Return the score of a submission that was judged."""
        assert self.score is not None
        return self.score

    def was_checked(self) -> bool:
        """Return whether checks could run."""
        return self.outcome not in (Result.NOT_GRADABLE, Result.NOT_JUDGED)

    def exit_code(self) -> int:
        """Return 0 if every defect is fixed and nothing else is broken, 3 if the kit could not judge, else 1."""
        if self.outcome is Result.NOT_JUDGED:
            return KitError.exit_code
        return 0 if self.outcome is Result.FIXED else 1

    def passes_every_check(self) -> bool:
        """Return whether checks ran and all of them passed."""
        return bool(self.checks) and all(outcome.status is Status.PASSED for outcome in self.checks)

    def is_right_so_far(self) -> bool:
        """Return whether every check passes, but some defects can only be decided at hand-in."""
        has_unknown = any(defect.status is DefectStatus.UNKNOWN for defect in self.defects)
        return self.outcome is Result.NOT_FIXED and has_unknown and self.passes_every_check()

    def awaits_claim(self) -> bool:
        """Return whether every check passes, but the student has yet to claim that nothing is wrong."""
        return self.outcome is Result.NOT_FIXED and not self.defects and self.passes_every_check()


def make_verdict(comparison: VariantComparison, file: str, seed: int, *, near_miss: str = "") -> Verdict:
    """Return the verdict on a submission that was compared with the variants; `file` is its name in the verdict."""
    exercise, examination = comparison.exercise, comparison.examination
    if examination.unloadable is not None:
        return not_gradable(exercise, file, seed, examination.unloadable, examination)
    attribution = attribute(comparison)
    reasons = {defect.id: _reason(comparison, attribution, defect.id) for defect in exercise.defects}
    defects = _defect_verdicts(exercise, attribution.statuses, reasons)
    all_fixed = all(defect.status is DefectStatus.FIXED for defect in defects if not defect.stretch)
    is_fixed = all_fixed and not attribution.regressions
    return Verdict(
        exercise=exercise.id,
        file=file,
        outcome=Result.FIXED if is_fixed else Result.NOT_FIXED,
        reason=None,
        score=score_of(exercise, attribution.statuses, is_fixed=is_fixed),
        max_score=exercise.max_score(),
        seed=seed,
        defects=defects,
        regressions=attribution.regressions,
        checks=examination.outcomes,
        isolation=examination.isolation,
        seconds=examination.seconds,
        causes=attribution.causes,
        near_miss=near_miss,
    )


def _reason(comparison: VariantComparison, attribution: Attribution, defect: str) -> Reason | None:
    """Return why a status is unknown; `AT_HAND_IN` if no check that runs here can show the defect."""
    reason = attribution.reasons.get(defect)
    fails_a_check = bool(comparison.key.signatures[defect])
    if reason and comparison.exercise.edition.decides_at_hand_in(fails_a_check=fails_a_check):
        return Reason(kind=UnknownReason.AT_HAND_IN)
    return reason


def _defect_verdicts(
    exercise: Exercise, statuses: Mapping[str, DefectStatus], reasons: Mapping[str, Reason | None]
) -> list[DefectVerdict]:
    """Return the status and points of each defect, in the order of the description."""
    numbers = exercise.numbers()
    return [
        DefectVerdict(
            id=defect.id,
            number=numbers[defect.id],
            status=statuses[defect.id],
            points=points_of(defect, statuses[defect.id]),
            max_points=defect.points,
            stretch=defect.stretch,
            reason=reasons[defect.id],
        )
        for defect in exercise.defects
    ]


def points_of(defect: Defect, status: DefectStatus | None) -> float:
    """Return the points for a defect with this status; a status of None, which earns 0, means that it is not known."""
    return defect.points if status is DefectStatus.FIXED else 0.0


def score_of(exercise: Exercise, statuses: Mapping[str, DefectStatus], *, is_fixed: bool) -> float:
    """Return the score by the description's current points; `is_fixed` if the verdict's result is `Result.FIXED`."""
    required = [defect for defect in exercise.defects if not defect.stretch]
    points = sum(points_of(defect, statuses.get(defect.id)) for defect in required)
    return points + (exercise.nothing_else_broke if is_fixed else 0.0)


def verdict_with_points(verdict: Verdict, exercise: Exercise) -> Verdict:
    """Return the verdict with the points of this description, which may have changed since the verdict was made."""
    described = {defect.id: defect for defect in exercise.defects}
    defects = [
        structs.replace(each, points=points_of(described[each.id], each.status), max_points=described[each.id].points)
        for each in verdict.defects
    ]
    statuses = {each.id: each.status for each in defects}
    score = score_of(exercise, statuses, is_fixed=verdict.outcome is Result.FIXED)
    return structs.replace(verdict, defects=defects, score=score, max_score=exercise.max_score())


def can_be_examined(read: Submission | Unreadable) -> TypeGuard[Submission]:
    """Return whether the file can be examined, so that `refuse` returns None in every exercise."""
    return isinstance(read, Submission) and why_too_large(read) is None


def refuse(exercise: Exercise, read: Submission | Unreadable, file: str, seed: int) -> Verdict | None:
    """Return the verdict on a file that is unreadable or too large; None if it can be examined."""
    why = why_too_large(read) if isinstance(read, Submission) else read
    if why is None:
        return None
    return not_gradable(exercise, file, seed, Finding(kind=FailureKind.UNREADABLE, message=why.reason))


def not_gradable(
    exercise: Exercise, file: str, seed: int, unloadable: Finding, examination: Examination | None = None
) -> Verdict:
    """Return the verdict on a submission for which no check could run; `unloadable` says why."""
    ids = [defect.id for defect in exercise.defects]
    reason = Reason(kind=UnknownReason.NO_CHECK_RAN)
    where = f" ({unloadable.location})" if unloadable.location else ""
    return Verdict(
        exercise=exercise.id,
        file=file,
        outcome=Result.NOT_GRADABLE,
        reason=f"{unloadable}{where}",
        score=0.0,
        max_score=exercise.max_score(),
        seed=seed,
        defects=_defect_verdicts(exercise, dict.fromkeys(ids, DefectStatus.UNKNOWN), dict.fromkeys(ids, reason)),
        regressions=[],
        checks=[],
        isolation=examination.isolation if examination else {},
        seconds=examination.seconds if examination else 0.0,
        unloadable=unloadable,
    )


def not_judged(exercise: Exercise, file: str, seed: int, reason: Finding) -> Verdict:
    """Return the verdict on a submission that the kit could not judge. It has no score."""
    verdict = not_gradable(exercise, file, seed, reason)
    return structs.replace(verdict, outcome=Result.NOT_JUDGED, score=None)
