"""Call a module in a calling variant, and compare what it returns there."""

from typing import Any

import torch
from msgspec import structs

from grader.checks.case import Case
from grader.checks.compare import FLOAT32, LARGE_INPUTS, Compared, Failure, compare
from grader.checks.outcome import Arguments, CallingVariant, FailureKind, History, Mode, Scale
from grader.checks.proxies import ModuleProxy
from grader.checks.session import SubjectRaisedError
from grader.sandbox.probes import calling_variants as probe
from grader.sandbox.values import flatten, map_tensors
from grader.spec.exercise import Exercise


def call_in_calling_variant(
    calling_variant: CallingVariant, case: Case, method: str, ours: ModuleProxy, exercise: Exercise
) -> Any:
    """Return what a module returns in the calling variant."""
    inputs = case.again
    by_position = calling_variant.arguments is Arguments.BY_POSITION and (method or not exercise.interface.keyword_only)
    return ours.run_probe(
        probe.call_in_variant,
        inputs,
        words=[str(change) for change in calling_variant.changes()],
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
    """Raise `Failure` where a module in the calling variant differs from the reference in the plain call.

    The module is in training mode only where the reference returns the same in training and in eval mode.
    """
    expected = theirs.call(method, **case.again)
    if calling_variant.mode is Mode.TRAINING:
        is_switched = not ours.training
        theirs.training = True
        ours.training = ours.training or _is_equal(theirs.call(method, **case.again), expected)
        if not (is_switched and ours.training):
            calling_variant = structs.replace(calling_variant, mode=Mode.UNCHANGED)
    try:
        observed = call_in_calling_variant(calling_variant, case, method, ours, exercise)
    except SubjectRaisedError as error:
        raise Failure(
            FailureKind.CALLING_VARIANT, calling_variant=calling_variant, expected="an output", observed=str(error)
        ) from None
    compared = Compared(action=method or exercise.interface.called(), calling_variant=calling_variant)
    if calling_variant.history is History.DOUBLE:
        expected = _double(expected)
    compare(observed, expected, compared, LARGE_INPUTS if calling_variant.scale is Scale.LARGE else FLOAT32)


def _is_equal(one: Any, other: Any) -> bool:
    """Whether two values are the same to the last bit."""
    ones, others = flatten(one), flatten(other)
    pairs = list(zip(ones, others, strict=False))
    return len(ones) == len(others) > 0 and all(
        torch.equal(each.nan_to_num(), same.nan_to_num()) for each, same in pairs
    )


def _double(value: Any) -> Any:
    return map_tensors(value, lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)
