"""Draw calling variants: by position, in training mode, without gradients, in other layouts, ...

A right module returns the same however it is called. The calling variants of a check's size cases are drawn from the
seed. Every value of an axis occurs somewhere in a run, and no size case is tried in more than one calling variant
beside the plain call.
"""

import operator
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from grader.checks.outcome import (
    Arguments,
    CallingVariant,
    Gradients,
    History,
    Layout,
    Mode,
    Scale,
    Sharing,
)

T = TypeVar("T")

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
