"""One size case: its sizes, and the constructor arguments and inputs made for them.

Shapes come from the interface: a description's `[batch, tokens, width]` is a tensor (B, T, D) here, with the size
case's number for each name. A mask is (..., Q, K) once its axes of queries and keys are moved to the end.
"""

import hashlib
from typing import Any

import torch
from msgspec import Struct, structs

from grader.checks.outcome import LARGE_SCALE, CallingVariant, Layout, Scale, Sharing
from grader.checks.size_cases import inputs_of_one_shape
from grader.spec.exercise import Exercise
from grader.spec.fields import MadeInput, MaskKind, size_of, sizes_of
from grader.spec.properties import SAMPLES, Property

VISIBLE_SHARE = 0.6
"""The share of pairs that a random mask leaves visible."""

IGNORED_EVERY = 4
"""One in so many whole numbers is the one that is ignored, where there is one."""


class Case(Struct, frozen=True, kw_only=True):
    """What a check runs with at one size case; all of it depends on the seed, the check and the size case."""

    sizes: dict[str, int]
    arguments: dict[str, Any]
    inputs: dict[str, Any]
    again: dict[str, Any] = {}
    """Other inputs of the same kinds, for a second call."""
    samples_axes: dict[str, int] = {}
    """The axis of the samples in each input that has one."""
    calling_variant: CallingVariant | None = None
    """How the second call is made."""
    is_plain: bool = True
    """Whether there is a first call, in the plain calling variant."""
    grad: bool = True
    """Whether calls that need no gradients run with gradients enabled."""

    def built_with(self, name: str, value: float) -> "Case":
        """The same case with another constructor argument."""
        return structs.replace(self, arguments={**self.arguments, name: value})

    def inputs_with_change(self, name: str, axis: int, index: int) -> dict[str, Any]:
        """Return the inputs with one token or sample of one input replaced by new random values. Integers are
        replaced by other integers of the same input.
        """
        changed = self.inputs[name].clone()
        part = changed.select(axis, index)
        if changed.is_floating_point():
            part.copy_(torch.randn(part.shape))
        else:
            values = changed.unique()
            part.copy_(values[(torch.searchsorted(values, part.contiguous()) + 1) % len(values)])
        return {**self.inputs, name: changed}

    def tensors(self) -> dict[str, torch.Tensor]:
        """The floating-point inputs."""
        return {
            name: value
            for name, value in self.inputs.items()
            if isinstance(value, torch.Tensor) and value.is_floating_point()
        }


def make_case(
    exercise: Exercise,
    check: Property,
    sizes: dict[str, int],
    calling_variant: CallingVariant | None = None,
    *,
    is_plain: bool = True,
) -> Case:
    """The case for one set of sizes."""
    constructor = {**exercise.interface.constructor, **check.constructor}
    arguments = {
        name: sizes.get(value, value) if isinstance(value, str) else value
        for name, value in constructor.items()
        if name not in check.defaults
    }
    specs = check.all_inputs(exercise.interface)
    inputs = {name: _make_input(spec, sizes) for name, spec in specs.items()}
    again = (
        {name: _in_calling_variant(_make_input(spec, sizes), spec, calling_variant) for name, spec in specs.items()}
        if calling_variant
        else {}
    )
    if calling_variant and calling_variant.sharing is Sharing.SHARED:
        groups = inputs_of_one_shape(exercise, check, sizes)
        again |= {name: again[first] for first, *others in groups for name in others}
    axes = {name: axis for name, spec in specs.items() if (axis := _samples_axis(spec)) is not None}
    return Case(
        sizes=sizes,
        arguments=arguments,
        inputs=inputs,
        again=again,
        samples_axes=axes,
        calling_variant=calling_variant,
        is_plain=is_plain,
    )


def _samples_axis(spec: Any) -> int | None:
    """The axis of an input along which its samples lie."""
    shape = spec if isinstance(spec, list) else spec.shape if isinstance(spec, MadeInput) else []
    return shape.index(SAMPLES) if SAMPLES in shape else None


def _in_calling_variant(value: Any, spec: Any, calling_variant: CallingVariant) -> Any:
    """Return an input for a calling variant. An expanded input repeats its first sample."""
    if not isinstance(value, torch.Tensor):
        return value
    axis = _samples_axis(spec)
    if calling_variant.layout is Layout.EXPANDED and axis is not None:
        value = value.narrow(axis, 0, 1).expand(value.shape).contiguous()
    is_large = calling_variant.scale is Scale.LARGE and isinstance(spec, list)
    return value * LARGE_SCALE if is_large else value


def _make_input(spec: Any, sizes: dict[str, int]) -> Any:
    if isinstance(spec, list):
        return torch.randn(sizes_of(spec, sizes))
    if not isinstance(spec, MadeInput):
        return spec
    if spec.is_mask():
        return _make_mask(spec, sizes)
    if spec.between is not None:
        low, high = spec.between
        return low + (high - low) * torch.rand(sizes_of(spec.shape, sizes))
    return make_integers(spec, sizes)


def make_integers(spec: MadeInput, sizes: dict[str, int]) -> torch.Tensor:
    """Whole numbers from `start` to `integers`, with it or without; smallest and largest occur where there is room."""
    assert not isinstance(spec.integers, bool)
    shape = sizes_of(spec.shape, sizes)
    end = max(size_of(spec.integers, sizes) + spec.inclusive, spec.start + 1)
    numbers = torch.randint(spec.start, end, shape)
    places = torch.randperm(numbers.numel())
    flat = numbers.view(-1)
    if len(places) > 1:
        flat[places[0]], flat[places[1]] = spec.start, end - 1
    if spec.ignored is not None:
        flat[places[2::IGNORED_EVERY]] = spec.ignored
    return numbers


def _make_mask(spec: MadeInput, sizes: dict[str, int]) -> torch.Tensor:
    """A mask, true where a query may look at a key; every query sees a key unless `dead_row` says otherwise."""
    shape = sizes_of(spec.shape, sizes)
    mask = torch.ones(shape, dtype=torch.bool)
    pairs = mask.movedim(spec.axes, (-2, -1))
    queries, keys = pairs.shape[-2:]
    if spec.mask is MaskKind.CAUSAL:
        pairs &= torch.ones(queries, keys, dtype=torch.bool).tril()
    elif spec.mask is MaskKind.PADDING:
        pairs[..., (keys + 1) // 2 :] = False
    else:
        pairs &= torch.rand(pairs.shape) < VISIBLE_SHARE
        always = torch.randint(keys, (*pairs.shape[:-1], 1))
        pairs.scatter_(-1, always, value=True)
    if spec.mask is MaskKind.DEAD_ROW:
        pairs[..., dead_row(queries), :] = False
    return mask.long() if spec.integers else mask


def dead_row(queries: int) -> int:
    """The query that a `dead_row` mask hides everything from."""
    return queries // 2


def seed_draws(name: str) -> None:
    """Seed this process's random numbers (inputs and reference weights) by `name`."""
    torch.default_generator.manual_seed(int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big"))
