"""What failing checks saw -> causes, each told once by its most telling finding."""

from msgspec import Struct

from grader.examiner.outcome import Finding, Outcome, Picture, Status, in_words
from grader.verdict.verdict import Verdict

GENERAL_KINDS = {"values", "gradient", "shape", "dtype", "type", "nonfinite", "no-time", "timeout"}
"""Kinds of fault that one cause shows in many checks, at another element each time."""

NAMED_CHECKS = 3
"""As many checks are named in one line."""

OUTNUMBERS = 2
"""A crash in more than so many times as many checks as all else together hides what lies behind it."""


class Cause(Struct, frozen=True):
    """The most telling finding and the checks that saw it, or saw the like of it; `defects` explain it, by id.

    `picture` is the finding's own, or else that of the next of these checks that has one.
    """

    finding: Finding
    status: Status
    checks: list[str]
    defects: list[str] = []
    is_new: bool = False
    picture: Picture | None = None


def group_causes(verdict: Verdict) -> list[Cause]:
    """Failures that the same defects explain are one cause; of the others, crashes at one line, and wrong values.

    Crashes come first, then what one property says in its own words, then wrong values.
    """
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in verdict.checks:
        if outcome.finding is not None:
            key = tuple(verdict.causes.get(outcome.check, [])) or _likeness(outcome.status, outcome.finding)
            groups.setdefault(key, []).append(outcome)
    causes = [_cause(members, verdict) for members in groups.values()]
    return sorted(causes, key=lambda cause: _rank(cause.status, cause.finding))


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


def defects_behind(verdict: Verdict, crash: Cause) -> int:
    """How many defects are not fixed besides the one that this crash comes from."""
    left = sum(defect.status != "fixed" for defect in verdict.defects)
    return left - min(left, len(crash.defects))


def listed(checks: list[str]) -> str:
    """The first checks of a list in words, and how many there are besides."""
    more = len(checks) - NAMED_CHECKS
    named = ", ".join(map(in_words, checks[:NAMED_CHECKS]))
    return named + (f" and {more} more" if more > 0 else "")


def _cause(members: list[Outcome], verdict: Verdict) -> Cause:
    seen = [(member.status, member.finding, member.check) for member in members if member.finding]
    seen.sort(key=lambda each: _rank(each[0], each[1]))
    status, finding, check = seen[0]
    checks = [name for _, _, name in seen]
    picture = next((each.picture for _, each, _ in seen if each.picture), None)
    return Cause(finding, status, checks, verdict.causes.get(check, []), check in verdict.regressions, picture)


def _likeness(status: Status, finding: Finding) -> tuple[str, ...]:
    if finding.location:
        return status, finding.kind, str(finding.location)
    if finding.kind in GENERAL_KINDS:
        return status, finding.kind
    return status, finding.kind, finding.text


def _rank(status: Status, finding: Finding) -> tuple[bool, bool, bool]:
    """How telling a finding is, the most telling least."""
    return status is Status.FAILED, finding.kind in GENERAL_KINDS, finding.location is None
