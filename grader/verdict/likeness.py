"""Whether a submission fails as a variant of the reference does: by the same values, not the same kind of fault."""

from typing import Any

from msgspec import structs

from grader.examiner.outcome import Examination, Outcome, Status

RELATIVE, ABSOLUTE = 1e-3, 5e-5
"""How far values may lie apart: different ways to write the same fault round in different ways."""

OTHERWISE = "otherwise-"
"""Begins the kind of a fault that no look-alike shows with these values."""


def tell_apart(seen: Examination, look_alikes: list[Examination]) -> Examination:
    """The examination, in which a failure that no look-alike shares in what was seen is of a sort of its own.

    A look-alike is what was seen of a variant that fails in the same ways, with the same inputs and weights. What a
    check saw of numbers that depend on a module's own first weights, of texts and of crashes is not compared: the same
    fault may be written in ways that draw, say and crash otherwise.
    """
    return structs.replace(seen, outcomes=[_told_apart(outcome, seen, look_alikes) for outcome in seen.outcomes])


def is_seen_in(seen: Examination, look_alike: Examination) -> bool:
    """Whether all that failed checks saw of a submission is what they see of a look-alike."""
    return all(is_same(value, look_alike.saw.get(check)) for check, value in seen.saw.items())


def _told_apart(outcome: Outcome, seen: Examination, look_alikes: list[Examination]) -> Outcome:
    finding, check = outcome.finding, outcome.check
    if outcome.status is not Status.FAILED or finding is None or check not in seen.saw:
        return outcome
    alike = [
        each
        for each in look_alikes
        if any((other.check, other.failure_kind()) == (check, outcome.failure_kind()) for other in each.outcomes)
    ]
    if any(is_same(seen.saw[check], each.saw.get(check)) for each in alike):
        return outcome
    return structs.replace(outcome, finding=structs.replace(finding, kind=OTHERWISE + finding.kind))


def is_same(one: Any, other: Any) -> bool:
    """Whether two things that checks saw are equal but for rounding: tensors as wholes, and whatever else."""
    import torch

    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        return torch.allclose(one, other, RELATIVE, ABSOLUTE, equal_nan=True)
    return type(one) is type(other) and bool(one == other)
