"""One cause told once: failing outcomes grouped by what they have in common."""

from msgspec import Struct

from grader.outcome import Finding, Outcome, Status

GENERAL_KINDS = {"values", "gradient", "shape", "dtype", "type", "nonfinite", "no-time", "timeout"}
"""Kinds of fault that one cause shows in many checks, at another element each time."""


class Cause(Struct, frozen=True):
    """A finding and the checks that saw it, or saw the like of it."""

    finding: Finding
    status: Status
    checks: list[str]


def group_causes(outcomes: list[Outcome], explained_by: dict[str, list[str]]) -> list[Cause]:
    """Crashes at the same line are one cause, and so are wrong values that the same defects explain.

    Crashes come first, then what one property says in its own words, then wrong values.
    """
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.finding is not None:
            groups.setdefault(_cause(outcome, outcome.finding, explained_by), []).append(outcome)
    causes = [
        Cause(first.finding, first.status, [first.check, *(other.check for other in others)])
        for first, *others in groups.values()
        if first.finding
    ]
    return sorted(causes, key=lambda cause: (cause.status is Status.FAILED, cause.finding.kind in GENERAL_KINDS))


def _cause(outcome: Outcome, finding: Finding, explained_by: dict[str, list[str]]) -> tuple[str, ...]:
    if finding.location:
        return outcome.status, finding.kind, str(finding.location)
    if finding.kind in GENERAL_KINDS:
        return outcome.status, finding.kind, *explained_by.get(outcome.check, [])
    return outcome.status, finding.kind, finding.text
