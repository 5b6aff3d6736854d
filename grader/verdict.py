"""Outcomes and a key -> Verdict: which defects are fixed, what else broke, what it scores. Pure."""

from enum import StrEnum

from msgspec import Struct

from grader.exercise import Exercise
from grader.outcome import Examination, Finding, Key, Outcome, Status

FORMAT_VERSION = 1


class DefectStatus(StrEnum):
    """What is known of a defect."""

    FIXED = "fixed"
    PRESENT = "present"
    UNKNOWN = "unknown"


class Result(StrEnum):
    """What a verdict comes to."""

    FIXED = "fixed"
    NOT_FIXED = "not_fixed"
    NOT_GRADABLE = "not_gradable"


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
    `where` is what was seen of a submission that cannot be graded; `seconds` are wall-clock.
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
    where: Finding | None = None

    def exit_code(self) -> int:
        """0 when every defect is fixed and nothing is broken, else 1."""
        return 0 if self.outcome is Result.FIXED else 1


def judge(exercise: Exercise, key: Key, seen: Examination, file: str, seed: int) -> Verdict:
    """The verdict on a submission, from what was seen of it."""
    if seen.unloadable is not None:
        return not_gradable(exercise, file, seed, seen.unloadable, seen)
    reading = _read(exercise, key, seen)
    defects = [
        DefectVerdict(
            defect.id,
            reading.statuses[defect.id],
            defect.points if reading.statuses[defect.id] is DefectStatus.FIXED else 0.0,
            defect.points,
            defect.stretch,
            reading.reasons.get(defect.id, ""),
        )
        for defect in exercise.defects
    ]
    all_fixed = all(defect.status is DefectStatus.FIXED for defect in defects if not defect.stretch)
    is_whole = all_fixed and not reading.unexplained
    score = sum(defect.points for defect in defects if not defect.stretch)
    return Verdict(
        exercise.id,
        file,
        Result.FIXED if is_whole else Result.NOT_FIXED,
        None,
        score + (exercise.nothing_else_broke if is_whole else 0.0),
        exercise.max_score(),
        seed,
        defects,
        reading.unexplained,
        seen.outcomes,
        seen.isolation,
        seen.seconds,
        reading.causes,
    )


def judge_public(exercise: Exercise, seen: Examination, file: str, seed: int) -> Verdict:
    """The verdict of a student edition: what its public checks saw, and never that an exercise is fixed."""
    if seen.unloadable is not None:
        return not_gradable(exercise, file, seed, seen.unloadable, seen)
    return Verdict(
        exercise.id,
        file,
        Result.NOT_FIXED,
        public_result(exercise, seen.outcomes),
        0.0,
        exercise.max_score(),
        seed,
        [],
        [],
        seen.outcomes,
        seen.isolation,
        seen.seconds,
    )


def public_result(exercise: Exercise, outcomes: list[Outcome]) -> str:
    """What the public checks came to, and how many hidden ones there are."""
    passed, total, hidden = (
        sum(outcome.status is Status.PASSED for outcome in outcomes),
        len(exercise.checks),
        exercise.hidden_checks,
    )
    noun, verb = ("check", "passes") if total == 1 else ("checks", "pass")
    result = f"all {total} public {noun} {verb}" if passed == total else f"{passed} of {total} public {noun} {verb}"
    return f"{result}; {hidden} hidden {'one follows' if hidden == 1 else 'ones follow'} when you hand it in"


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
        where=why,
    )


class _Reading(Struct, frozen=True):
    """What outcomes mean: a status for each defect, and the failures that no present defect explains."""

    statuses: dict[str, DefectStatus]
    reasons: dict[str, str]
    unexplained: list[str]
    causes: dict[str, list[str]]


def _read(exercise: Exercise, key: Key, seen: Examination) -> _Reading:
    """Find the variants that behave like the submission.

    A variant that fails where the submission passes is ruled out. Of the rest, those that explain the most failures,
    sign for sign, are look-alikes. A defect that every look-alike has is present. One that no possible variant has is
    fixed, and so is one that no look-alike has where they explain every failure.
    """
    passed = {outcome.check for outcome in seen.outcomes if outcome.status is Status.PASSED}
    failed = {outcome.check: outcome.sign() for outcome in seen.outcomes if outcome.check not in passed}
    possible = [name for name, signs in key.signs.items() if not signs.keys() & passed]
    explained = {name: _explained(key.signs[name], failed) for name in possible}
    most = max(len(checks) for checks in explained.values())
    alike = [name for name in possible if len(explained[name]) == most]
    unexplained = [check for check in failed if not any(check in explained[name] for name in alike)]
    statuses, reasons = {}, {}
    for defect in exercise.defects:
        holders = {name for name in alike if defect.id in name.split("+")}
        is_ruled_out = not any(defect.id in name.split("+") for name in possible)
        if is_ruled_out or not (holders or unexplained):
            statuses[defect.id] = DefectStatus.FIXED
        elif len(holders) == len(alike):
            statuses[defect.id] = DefectStatus.PRESENT
        elif unexplained:
            statuses[defect.id] = DefectStatus.UNKNOWN
            reasons[defect.id] = "its checks fail for another reason"
        else:
            statuses[defect.id] = _second_look(defect.id, key, alike, seen.methods)
            if statuses[defect.id] is DefectStatus.UNKNOWN:
                reasons[defect.id] = "it cannot be seen behind the crash"
    present = [name for name, status in statuses.items() if status is DefectStatus.PRESENT]
    causes = {check: [name for name in present if key.signs[name].get(check) == sign] for check, sign in failed.items()}
    return _Reading(statuses, reasons, unexplained, causes)


def _explained(signs: dict[str, str], failed: dict[str, str]) -> set[str]:
    return {check for check, sign in failed.items() if signs.get(check) == sign}


def _second_look(defect: str, key: Key, alike: list[str], methods: dict[str, str]) -> DefectStatus:
    """Tell look-alikes apart by the syntax trees of the methods that the defect touches."""
    touched = [name for name, tree in key.methods[defect].items() if key.methods[""].get(name) != tree]
    matching = [
        name for name in alike if all(key.methods[name].get(method) == methods.get(method) for method in touched)
    ]
    has_defect = {defect in name.split("+") for name in matching}
    if has_defect == {True}:
        return DefectStatus.PRESENT
    if has_defect == {False}:
        return DefectStatus.FIXED
    return DefectStatus.UNKNOWN
