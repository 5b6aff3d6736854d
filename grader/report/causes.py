"""One cause told once: failing outcomes grouped by what they have in common."""

from msgspec import Struct

from grader.outcome import Finding, Outcome, Status

GENERAL_KINDS = {"values", "gradient", "shape", "dtype", "type", "nonfinite", "no-time", "timeout"}
"""Kinds of fault that one cause shows in many checks, at another element each time."""


class Cause(Struct, frozen=True):
    """The most telling finding and the checks that saw it, or saw the like of it."""

    finding: Finding
    status: Status
    checks: list[str]


def group_causes(outcomes: list[Outcome], explained_by: dict[str, list[str]]) -> list[Cause]:
    """Failures that the same defects explain are one cause; of the others, crashes at one line, and wrong values.

    Crashes come first, then what one property says in its own words, then wrong values.
    """
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.finding is not None:
            key = tuple(explained_by.get(outcome.check, [])) or _likeness(outcome.status, outcome.finding)
            groups.setdefault(key, []).append(outcome)
    causes = [_cause(members) for members in groups.values()]
    return sorted(causes, key=lambda cause: _rank(cause.status, cause.finding))


def _cause(members: list[Outcome]) -> Cause:
    seen = [(member.status, member.finding, member.check) for member in members if member.finding]
    seen.sort(key=lambda each: _rank(each[0], each[1]))
    status, finding, _ = seen[0]
    return Cause(finding, status, [check for _, _, check in seen])


def _likeness(status: Status, finding: Finding) -> tuple[str, ...]:
    if finding.location:
        return status, finding.kind, str(finding.location)
    if finding.kind in GENERAL_KINDS:
        return status, finding.kind
    return status, finding.kind, finding.text


def _rank(status: Status, finding: Finding) -> tuple[bool, bool, bool]:
    """How telling a finding is, the most telling least."""
    return status is Status.FAILED, finding.kind in GENERAL_KINDS, finding.location is None
