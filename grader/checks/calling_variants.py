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
from grader.checks.subjects import adapter_of

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

IN_CALLING_VARIANT = "in_calling_variant"
"""The probe's method."""

PROBE = """
import contextlib
import copy

BUILT = {{}}

def keeping(words):
    if "inference_mode" in words:
        return torch.inference_mode()
    return torch.no_grad() if "no_grad" in words else contextlib.nullcontext()

def is_of_ones(value):
    return value.dtype == torch.bool or (value.numel() > 0 and value.min() >= 0 and value.max() <= 1)

def write(tensors, others):
    with torch.no_grad():
        for value, other in zip(tensors, others):
            for axis, step in enumerate(value.stride()):
                if step == 0:  # one sample expanded to all is written to once
                    value, other = value.narrow(axis, 0, 1), other.narrow(axis, 0, 1)
            with contextlib.suppress(RuntimeError):
                value.copy_(other)

@contextlib.contextmanager
def holding(tensors, others):
    kept = [value.detach().clone() for value in tensors]
    write(tensors, others)
    try:
        yield
    finally:
        write(tensors, kept)

def call_with_others(module, inputs, call):
    tensors = [value for value in inputs.values() if isinstance(value, torch.Tensor) and value.dim()]
    rolled = [value for value in tensors if value.is_floating_point() or is_of_ones(value)]
    others = [value.detach().roll(1, -1) for value in rolled]
    weights = [*module.parameters()]  # not rolled too, or weights times inputs would be what they were
    turns = list(map(turned, weights))
    for values, theirs in ((rolled + weights, others + turns), (weights, turns)):  # what is kept may know the inputs
        with holding(values, theirs), contextlib.suppress(Exception):
            call()

def turned(value):
    # weights that point elsewhere: a softmax of loud scores is the same for smaller ones
    return value.detach() * torch.linspace(-1.0, 0.5, value.numel(), dtype=value.dtype).view(value.shape)

def laid_out(value, words, axis):
    if not isinstance(value, torch.Tensor) or value.dim() < 2:
        return value
    if "expanded" in words:
        return value if axis is None else value.narrow(int(axis), 0, 1).expand(value.shape)
    return value.transpose(0, -1).contiguous().transpose(0, -1) if "transposed" in words else value

def first_like(value, others):
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    alike = (other for other in others if isinstance(other, torch.Tensor) and torch.equal(other, value))
    return next(alike, value)

class Variation({entry}):
    def __init__(self, **arguments):
        super().__init__(**arguments)
        BUILT[id(self)] = arguments

    def _history(self, words, method, inputs):
        if not {{"reloaded", "rebuilt", "double"}}.isdisjoint(words):
            arguments = BUILT[id(self)]
            by_position = "rebuilt" in words
            again = {entry}(*arguments.values()) if by_position else {entry}(**arguments)
            state = self.state_dict()
            others = {{name: value * 0 if isinstance(value, torch.Tensor) else value for name, value in state.items()}}
            for checkpoint in (others, state):  # what is loaded last counts
                again.load_state_dict(checkpoint)
            again.train(self.training)
            return again.double() if "double" in words else again
        if "modes" in words:
            was = self.training
            for mode in (not was, was):
                self.train(mode)
                (getattr(self, method) if method else self)(**inputs)
        if "copied" in words:
            try:
                return copy.deepcopy(self)
            except (RuntimeError, TypeError) as error:  # it keeps what nobody can copy, such as a lock
                if not any(words in str(error) for words in ("deepcopy protocol", "cannot pickle")):
                    raise
        return self

    def in_calling_variant(self, _calling_variant, _method, _by_position, _axes, **inputs):
        words = _calling_variant.split()
        module = self._history(words, _method, inputs)
        axes = dict(pair.split("=") for pair in _axes.split())
        if "double" in words:
            inputs = {{
                name: value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
                for name, value in inputs.items()
            }}
        inputs = {{name: laid_out(value, words, axes.get(name)) for name, value in inputs.items()}}
        if "shared" in words:
            inputs = {{name: first_like(value, inputs.values()) for name, value in inputs.items()}}
        call = getattr(module, _method) if _method else module
        by_position = _by_position.split()

        def called():
            by_name = {{name: value for name, value in inputs.items() if name not in by_position}}
            with keeping(words):
                return call(*(inputs[name] for name in by_position), **by_name)

        if "again" in words:
            call_with_others(module, inputs, called)
        was = module.training
        own = [] if module is self else [*self.parameters()]  # what was made of it has to do without
        with holding(own, list(map(torch.zeros_like, own))):
            value = called()
        if module.training != was:
            raise RuntimeError(f"the call left the module's training as {{module.training}}, which was {{was}}")
        return value
"""
"""A probe: calls the submission's module in a calling variant, and looks whether the call left its mode as it was."""


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
    """Return what a module, built beside `probe_for` its exercise, returns in the calling variant."""
    inputs = case.again
    by_position = calling_variant.arguments is Arguments.BY_POSITION and (method or not exercise.interface.keyword_only)
    asked = {
        "_calling_variant": " ".join(calling_variant.changes()),
        "_method": method,
        "_by_position": " ".join(inputs) if by_position else "",
        "_axes": " ".join(f"{name}={axis}" for name, axis in case.samples_axes.items()),
    }
    return ours.call(IN_CALLING_VARIANT, **asked, **inputs)


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


def probe_for(exercise: "Exercise") -> str:
    """The probe beside an exercise's class, or beside what adapts its function."""
    adapter, entry = adapter_of(exercise.interface)
    return adapter + PROBE.format(entry=entry if adapter else f"submission.{entry}")


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
