"""What failing checks saw -> causes, each told once by its most telling finding."""

from msgspec import Struct

from grader.checks.outcome import Finding, Outcome, Picture, Status, in_words
from grader.verdict.attribution import DefectStatus
from grader.verdict.verdict import Verdict

GENERAL_KINDS = {"values", "gradient", "shape", "dtype", "type", "nonfinite", "no-time", "timeout"}
"""Kinds of fault that one cause shows in many checks, at another element each time."""

SAID_LAST = {
    "no-dropout",
    "dropout-elsewhere",
    "dropout-chance",
    "dropout-shared",
    "dropout-gradient",
    "unclear-refusal",
}
"""Kinds of fault that are looked into once what a module computes is right; that it drops in eval mode is none."""

NAMED_CHECKS = 3
"""As many checks are named of a list that is not told whole."""

LISTED_WHOLE = 5
"""As many checks are told whole: a list of so many is no longer than one that is cut and counted."""

OUTNUMBERS = 2
"""A crash in more than so many times as many checks as all else together hides what lies behind it."""


class Cause(Struct, frozen=True):
    """The most telling finding and the checks that saw it, or saw the like of it; `defects` explain it, by id.

    `picture` is the finding's own, or else that of the next of these checks that has one, which `pictured` names.
    """

    finding: Finding
    status: Status
    checks: list[str]
    defects: list[str] = []
    is_new: bool = False
    picture: Picture | None = None
    pictured: str = ""


def group_causes(verdict: Verdict) -> list[Cause]:
    """Failures that the same defects explain are one cause; of the others, crashes at one line, and wrong values.

    Crashes come first, then what one property says in its own words, then wrong values, then dropout and advice.
    """
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in verdict.checks:
        if outcome.finding is not None:
            key = tuple(verdict.causes.get(outcome.check, [])) or _likeness(outcome.status, outcome.finding)
            groups.setdefault(key, []).append(outcome)
    causes = [_cause(members, verdict) for members in groups.values()]
    return sorted(causes, key=_place)


def _place(cause: Cause) -> tuple[bool, bool, bool, bool, bool]:
    """What sorts causes: crashes first, what more than one defect may bring about after what is plainly one's, and
    what has its turn once values are right at the end.
    """
    is_failed, *others = _rank(cause.status, cause.finding)
    return is_failed, cause.finding.kind in SAID_LAST, len(cause.defects) > 1, others[0], others[1]


def told_causes(verdict: Verdict) -> list[Cause]:
    """The causes that students are told: all of them, or the one crash behind which nothing else can be seen."""
    causes = group_causes(verdict)
    crash = hiding_crash(causes)
    return causes if crash is None else [crash]


def hiding_crash(causes: list[Cause]) -> Cause | None:
    """The crash behind which nothing else can be seen: almost every check that fails ends in it."""
    crash = next((cause for cause in causes if cause.status is Status.CRASHED), None)
    others = sum(len(cause.checks) for cause in causes if cause is not crash)
    return crash if crash is not None and len(crash.checks) > OUTNUMBERS * others else None


def told_of_crash(verdict: Verdict, crash: Cause) -> str:
    """What is known of the defects behind a crash that hides the rest; empty where nothing is left there."""
    others = [defect for defect in verdict.defects if defect.id not in crash.defects]
    present = sum(defect.status is DefectStatus.PRESENT for defect in others)
    unknown = sum(defect.status is DefectStatus.UNKNOWN for defect in others)
    if not present + unknown:
        return ""
    lies = "1 more defect lies there" if present == 1 else f"{present} more defects lie there"
    left = "1 more defect lies" if unknown == 1 else f"{unknown} more defects lie"
    known = [lies] * bool(present) + [f"whether {left} there is not known"] * bool(unknown)
    return f"Nothing behind this crash can be seen yet: {', and '.join(known)}."


def named_checks(checks: list[str]) -> str:
    """The first checks of a list by their quoted names, and how many there are besides."""
    more = len(checks) - NAMED_CHECKS if len(checks) > LISTED_WHOLE else 0
    named = ", ".join(f'"{in_words(check)}"' for check in (checks[:NAMED_CHECKS] if more else checks))
    return named + (f" and {more} more" if more > 0 else "")


def _cause(members: list[Outcome], verdict: Verdict) -> Cause:
    seen = [(member.status, member.finding, member.check) for member in members if member.finding]
    seen.sort(key=lambda each: _rank(each[0], each[1]))
    status, finding, check = seen[0]
    checks = [name for _, _, name in seen]
    drawn = ((each.picture, name if each is not finding else "") for _, each, name in seen if each.picture)
    is_new = check in verdict.regressions
    return Cause(finding, status, checks, verdict.causes.get(check, []), is_new, *next(drawn, (None, "")))


def _likeness(status: Status, finding: Finding) -> tuple[str, ...]:
    if finding.location:
        return status, finding.kind, str(finding.location)
    if finding.kind in GENERAL_KINDS:
        return status, finding.kind
    return status, finding.kind, finding.text


def _rank(status: Status, finding: Finding) -> tuple[bool, bool, bool]:
    """How telling a finding is, the most telling least."""
    return status is Status.FAILED, finding.kind in GENERAL_KINDS, finding.location is None
