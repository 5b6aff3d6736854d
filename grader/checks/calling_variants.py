"""Call a module in other ways: by position, in training mode, without gradients, in other layouts, ...

A right module returns the same however it is called. The calling variants of a check's size cases are drawn from the
seed. Every value of an axis occurs somewhere in a run, and no size case is tried in more than one calling variant
beside the plain call.
"""

import operator
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import structs

from grader.checks.compare import FLOAT32, Compared, Failure, Tolerance, compare
from grader.checks.outcome import (
    Arguments,
    CallingVariant,
    FailureKind,
    Gradients,
    History,
    Layout,
    Mode,
    Scale,
    Sharing,
)

if TYPE_CHECKING:
    from grader.checks.case import Case
    from grader.checks.proxies import ModuleProxy
    from grader.spec.exercise import Exercise

T = TypeVar("T")

LARGE_INPUTS = Tolerance(relative=0.0, absolute=0.0, of_largest=1e-2)
"""Scores of thousands are rounded to a thousandth, and weights of keys that lie close are off by as much."""

MODES = (Mode.TRAINING, Mode.UNCHANGED)
GRADIENTS = (Gradients.NO_GRAD, Gradients.INFERENCE_MODE, Gradients.RECORDED)
LAYOUTS = (Layout.TRANSPOSED, Layout.EXPANDED, Layout.CONTIGUOUS)
HISTORIES = (
    History.RELOADED,
    History.MODES,
    History.COPIED,
    History.DOUBLE,
    History.REBUILT,
    History.AFTER_OTHERS,
)
SHARINGS = (Sharing.SHARED, Sharing.SEPARATE)


def draw_calling_variants(
    name: str, count: int, with_any_layout: int, required: History | None = None
) -> list[CallingVariant]:
    """Return `count` calling variants that depend on `name` alone, with every value of an axis where there is room.

    Only the first `with_any_layout` may expand one sample to all: there a plain call shows what mixes samples,
    elsewhere none does. One of them has large inputs, but never together with other values in the same tensors or the
    `required` history: a saturated softmax can hide a stale cache.
    """
    draw = random.Random(name)  # noqa: S311 - the seed is a run's own, and secret
    layouts = _deal(draw, LAYOUTS, with_any_layout)
    layouts += _deal(draw, (Layout.TRANSPOSED, Layout.CONTIGUOUS), count - with_any_layout)
    modes = _deal(draw, MODES, count)
    gradients, histories = _deal(draw, GRADIENTS, count), _deal(draw, HISTORIES, count, required)
    for slot, history in enumerate(histories):
        if history is History.AFTER_OTHERS:  # caches are mostly used in evaluation, without gradients
            _exchange(gradients, slot, bool)
            _exchange(modes, slot, operator.not_)
    slots = [slot for slot in range(with_any_layout) if histories[slot] not in {History.AFTER_OTHERS, required}]
    large = draw.choice(slots or [0])
    by_position = [number % 2 == 0 for number in range(count)]
    draw.shuffle(by_position)
    sharings = _deal(draw, SHARINGS, count)
    return [
        CallingVariant(
            arguments=Arguments.BY_POSITION if by_position[slot] else Arguments.BY_KEYWORD,
            mode=modes[slot],
            gradients=gradients[slot],
            layout=layouts[slot],
            sharing=sharings[slot],
            history=histories[slot],
            scale=Scale.LARGE if slot == large else Scale.USUAL,
        )
        for slot in range(count)
    ]


def _exchange(values: list[T], slot: int, fits: Callable[[T], bool]) -> None:
    """Exchange a slot's value, where it does not fit, for the first that does, if there is one."""
    if not fits(values[slot]):
        other = next((number for number, value in enumerate(values) if fits(value)), slot)
        values[slot], values[other] = values[other], values[slot]


def _deal(draw: random.Random, values: Sequence[T], count: int, first: T | None = None) -> list[T]:
    """Return `count` of the values in random order, each as often as the others, beginning with `first` if given."""
    order = sorted(draw.sample(values, len(values)), key=lambda value: value != first)
    return [order[number % len(order)] for number in range(count)]


def call_in_calling_variant(
    calling_variant: CallingVariant, case: "Case", method: str, ours: "ModuleProxy", exercise: "Exercise"
) -> Any:
    """Return what a module returns in the calling variant."""
    from grader.sandbox.probes import calling_variants as probe  # imports torch

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
    case: "Case",
    method: str,
    ours: "ModuleProxy",
    theirs: "ModuleProxy",
    exercise: "Exercise",
) -> None:
    """Raise `Failure` where a module in the calling variant differs from the reference in the plain call.

    The module is in training mode only where the reference returns the same in training and in eval mode.
    """
    from grader.checks.session import SubjectRaisedError

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
    import torch

    from grader.sandbox.values import flatten

    ones, others = flatten(one), flatten(other)
    pairs = list(zip(ones, others, strict=False))
    return len(ones) == len(others) > 0 and all(
        torch.equal(each.nan_to_num(), same.nan_to_num()) for each, same in pairs
    )


def _double(value: Any) -> Any:
    from grader.sandbox.values import map_tensors

    return map_tensors(value, lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)
