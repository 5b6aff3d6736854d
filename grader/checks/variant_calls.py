"""Call a module in a calling variant, and compare what it returns there."""

from typing import Any

import torch

from grader.checks.calling_variants import CallingVariant
from grader.checks.case import Case
from grader.checks.compare import FLOAT32, LOUD, Failure, compare
from grader.checks.proxies import ModuleProxy
from grader.checks.session import SubjectRaisedError
from grader.sandbox.probes import calling_variants as probe
from grader.sandbox.values import flatten, map_tensors
from grader.spec.exercise import Exercise


def call_in_calling_variant(
    calling_variant: CallingVariant, case: Case, method: str, ours: ModuleProxy, exercise: Exercise
) -> Any:
    """What a module returns when it is called in the calling variant."""
    inputs = case.again
    by_position = "positional" in calling_variant.words and (method or not exercise.interface.keyword_only)
    return ours.run_probe(
        probe.call_in_variant,
        inputs,
        words=list(calling_variant.words),
        method=method,
        by_position=list(inputs) if by_position else [],
        sample_axes=case.samples_axes,
    )


def compare_in_calling_variant(
    calling_variant: CallingVariant,
    case: Case,
    method: str,
    ours: ModuleProxy,
    theirs: ModuleProxy,
    exercise: Exercise,
) -> None:
    """Raise `Failure` where a module that is called in the calling variant differs from the reference called plainly.

    In training mode it is called only where the reference returns there what it returns in evaluation.
    """
    expected = theirs.call(method, **case.again)
    if "training" in calling_variant.words:
        is_switched = not ours.training
        theirs.training = True
        ours.training = ours.training or _is_equal(theirs.call(method, **case.again), expected)
        if not (is_switched and ours.training):
            calling_variant = calling_variant.without("training")
    try:
        seen = call_in_calling_variant(calling_variant, case, method, ours, exercise)
    except SubjectRaisedError as error:
        raise Failure("calling variant", f"{calling_variant.described()}: expected an output, saw {error}") from None
    what = f"{calling_variant.described()}: {method or exercise.interface.called()}: output"
    if "double" in calling_variant.words:
        expected = _double(expected)
    compare(seen, expected, what, LOUD if "loud" in calling_variant.words else FLOAT32)


def _is_equal(one: Any, other: Any) -> bool:
    """Whether two values are the same to the last bit."""
    ones, others = flatten(one), flatten(other)
    pairs = list(zip(ones, others, strict=False))
    return len(ones) == len(others) > 0 and all(
        torch.equal(each.nan_to_num(), same.nan_to_num()) for each, same in pairs
    )


def _double(value: Any) -> Any:
    return map_tensors(value, lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)
