"""Whether a submission fails as a variant of the reference does: by the same numbers, not the same kind of fault."""

import math
import re

from msgspec import structs

from grader.examiner.outcome import Examination, Finding, Outcome, Status

NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)")
RELATIVE, ABSOLUTE = 0.02, 2e-3
"""How far numbers in two findings may lie apart: they are shown with three digits."""

OTHERWISE = "otherwise-"
"""Begins the kind of a fault that no look-alike shows with these numbers."""


def tell_apart(seen: Examination, twins: list[Examination]) -> Examination:
    """The examination, in which a failure that no twin shares in its numbers is of a sort of its own.

    A twin is what was seen of a variant that looks alike, at the same seed. Crashes are left as they are: the same
    fault may be written in ways that crash with other words.
    """
    findings = [{outcome.check: outcome.finding for outcome in twin.outcomes} for twin in twins]
    outcomes = [_told_apart(outcome, [each.get(outcome.check) for each in findings]) for outcome in seen.outcomes]
    return structs.replace(seen, outcomes=outcomes)


def _told_apart(outcome: Outcome, twins: list[Finding | None]) -> Outcome:
    finding = outcome.finding
    if outcome.status is not Status.FAILED or finding is None:
        return outcome
    if any(twin is not None and agree(finding.text, twin.text) for twin in twins):
        return outcome
    return structs.replace(outcome, finding=structs.replace(finding, kind=OTHERWISE + finding.kind))


def agree(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but the rounding of their numbers."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = zip(map(float, NUMBER.findall(one)), map(float, NUMBER.findall(other)), strict=True)
    return all(math.isnan(a) == math.isnan(b) and _is_close(a, b) for a, b in pairs)


def _is_close(one: float, other: float) -> bool:
    return math.isnan(one) or math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
