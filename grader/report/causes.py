"""One cause told once: failing outcomes grouped by what they have in common."""

from msgspec import Struct

from grader.outcome import Finding, Outcome, Status


class Cause(Struct, frozen=True):
    """A finding and the checks that saw it, or saw the like of it."""

    finding: Finding
    status: Status
    checks: list[str]


def group_causes(outcomes: list[Outcome]) -> list[Cause]:
    """Crashes at the same line are one cause, and so are failures of the same kind; crashes first."""
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.finding is not None:
            groups.setdefault(_cause(outcome, outcome.finding), []).append(outcome)
    causes = [Cause(members[0].finding, members[0].status, [m.check for m in members]) for members in groups.values() if members[0].finding]
    return sorted(causes, key=lambda cause: cause.status is Status.FAILED)


def _cause(outcome: Outcome, finding: Finding) -> tuple[str, ...]:
    place = str(finding.location) if finding.location else ""
    if outcome.status is Status.CRASHED and not place:
        place = finding.text
    return outcome.status, finding.kind, place
