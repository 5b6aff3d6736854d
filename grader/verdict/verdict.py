"""Outcomes and a key -> Verdict: which defects are fixed, what else broke, what it scores. Pure."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from grader.checks.outcome import Examination, Finding, Key, Outcome, Status
from grader.spec.exercise import Exercise
from grader.submission import Submission, Unreadable, why_too_large
from grader.verdict.attribution import Attribution, DefectStatus, attribute

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


class DefectVerdict(Struct, frozen=True):
    """One defect's status and points; `reason` says why a status is unknown."""

    id: str
    status: DefectStatus
    points: float
    max_points: float
    stretch: bool
    reason: str = ""


class Verdict(Struct, frozen=True):
    """Everything that is known of a submission.

    `score` and `max_score` leave stretch defects out; `causes` names the present defects that explain a failed check;
    `unloadable` is what was seen of a submission that cannot be graded; `seconds` are wall-clock.
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
        """Whether nothing wrong was seen, and some defects show only in checks that run when it is handed in."""
        is_open = any(defect.status is DefectStatus.UNKNOWN for defect in self.defects)
        all_passed = all(outcome.status is Status.PASSED for outcome in self.checks)
        return self.outcome is Result.NOT_FIXED and is_open and all_passed


def make_verdict(exercise: Exercise, key: Key, seen: Examination, file: str, seed: int) -> Verdict:
    """The verdict on a submission, from what was seen of it."""
    if seen.unloadable is not None:
        return not_gradable(exercise, file, seed, seen.unloadable, seen)
    reading = attribute(exercise, key, seen)
    defects = [
        DefectVerdict(
            defect.id,
            reading.statuses[defect.id],
            defect.points if reading.statuses[defect.id] is DefectStatus.FIXED else 0.0,
            defect.points,
            defect.stretch,
            _reason(exercise, key, reading, defect.id),
        )
        for defect in exercise.defects
    ]
    all_fixed = all(defect.status is DefectStatus.FIXED for defect in defects if not defect.stretch)
    is_whole = all_fixed and not reading.regressions
    return Verdict(
        exercise.id,
        file,
        Result.FIXED if is_whole else Result.NOT_FIXED,
        exercise.edition.checks_note(run=len(seen.outcomes), described=len(exercise.checks)),
        score_of(exercise, reading.statuses, is_whole=is_whole),
        exercise.max_score(),
        seed,
        defects,
        reading.regressions,
        seen.outcomes,
        seen.isolation,
        seen.seconds,
        reading.causes,
    )


def _reason(exercise: Exercise, key: Key, reading: Attribution, defect: str) -> str:
    """Return why a status is unknown."""
    fails_a_check = bool(key.failure_kinds[defect])
    return exercise.edition.reason_unknown(reading.reasons.get(defect, ""), fails_a_check=fails_a_check)


def score_of(exercise: Exercise, statuses: Mapping[str, DefectStatus], *, is_whole: bool) -> float:
    """What a submission scores by what is known of its defects, in today's points; whole ones have broken nothing."""
    fixed = [defect for defect in exercise.defects if statuses.get(defect.id) is DefectStatus.FIXED]
    points = sum(defect.points for defect in fixed if not defect.stretch)
    return points + (exercise.nothing_else_broke if is_whole else 0.0)


def refuse(exercise: Exercise, read: Submission | Unreadable, file: str, seed: int) -> Verdict | None:
    """The verdict on what holds no source or more than is allowed; None for what is to be examined."""
    if isinstance(read, Submission):
        too_large = why_too_large(read, exercise.limits.source_bytes)
        if too_large is None:
            return None
        read = too_large
    return not_gradable(exercise, file, seed, Finding("unreadable", read.reason))


def not_gradable(exercise: Exercise, file: str, seed: int, why: Finding, seen: Examination | None = None) -> Verdict:
    """The verdict on what could not be examined at all."""
    defects = [
        DefectVerdict(defect.id, DefectStatus.UNKNOWN, 0.0, defect.points, defect.stretch, "no check could run")
        for defect in exercise.defects
    ]
    isolation, seconds = (seen.isolation, seen.seconds) if seen else ({}, 0.0)
    where = f" ({why.location})" if why.location else ""
    return Verdict(
        exercise.id,
        file,
        Result.NOT_GRADABLE,
        why.text + where,
        0.0,
        exercise.max_score(),
        seed,
        defects,
        [],
        [],
        isolation,
        seconds,
        unloadable=why,
    )
