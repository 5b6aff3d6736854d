"""A case: the sizes of one size case, and the constructor arguments and inputs made for them.

Shapes come from the interface: `[batch, tokens, width]` in a description is a tensor (B, T, D) here, with the sizes of
the size case. A mask is (..., Q, K) after its axes of queries and keys are moved to the end.
"""

import hashlib
from enum import Enum
from typing import Any

import torch
from msgspec import Struct, structs

from grader.checks.size_cases import SizeCase, inputs_of_one_shape
from grader.spec.exercise import Exercise
from grader.spec.fields import MadeInput, MaskKind, shape_of, size_of, sizes_of
from grader.spec.properties import SAMPLES, Property

VISIBLE_SHARE = 0.6
"""The share of pairs that a random mask leaves visible."""

SIZE_OF_ITS_OWN = 2
"""A size that only an optional input has."""

IGNORED_EVERY = 4
"""The ignored integer, if the input has one, replaces one integer in this many."""


class Pattern(Enum):
    """Which pairs a random or a padding mask hides. Each set of inputs in calling variants has another pattern."""

    USUAL = "usual"
    FIRST_SAMPLE_SEES_ALL = "first sample sees all"
    GAP = "gap"
    """Padding hides keys between the first and the last; a random mask hides one key from every query."""


class Case(Struct, frozen=True, kw_only=True):
    """Arguments and inputs for a check at one size case. They depend only on the seed, the check and the size case."""

    size_case: SizeCase
    arguments: dict[str, Any]
    inputs: dict[str, Any]
    inputs_in_variants: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    """Two more sets of inputs, which calls in calling variants use in turn."""
    optional_inputs: dict[str, torch.Tensor] = {}
    """Tensors that other checks pass and this check leaves out, such as a mask. An earlier call may pass them."""
    samples_axes: dict[str, int] = {}
    """The axis of the samples in each input that has one."""
    shared: dict[str, str] = {}
    """Maps an input to the first input of the same shape, whose tensor it may share."""
    other_arguments: tuple[dict[str, Any], ...] = ()
    """Constructor arguments of other modules, which are called before a rebuilt one."""
    scaled: list[str] = []
    """The inputs to scale up in calls with large inputs."""
    largest_input: float | None = None
    """The largest absolute value that inputs may have, or None."""

    @property
    def sizes(self) -> dict[str, int]:
        """Return the sizes of the size case."""
        return self.size_case.sizes

    def built_with(self, name: str, value: float) -> "Case":
        """Return the case with one constructor argument replaced."""
        return structs.replace(self, arguments={**self.arguments, name: value})

    def inputs_with_change(self, name: str, axis: int, index: int) -> dict[str, Any]:
        """Return the inputs with one token or sample of one input replaced by new random values.

        Integers are replaced by other integers of the same input.
        """
        changed = self.inputs[name].clone()
        part = changed.select(axis, index)
        if changed.is_floating_point():
            part.copy_(torch.randn(part.shape))
        else:
            values = changed.unique()
            part.copy_(values[(torch.searchsorted(values, part.contiguous()) + 1) % len(values)])
        return {**self.inputs, name: changed}

    def enlarged(self, value: torch.Tensor, factor: float) -> torch.Tensor:
        """Return a floating-point input times `factor`, with each number at most as large as inputs may be."""
        limit = self.largest_input or torch.inf
        return (factor * value).clamp(-limit, limit)

    def enlargement(self, factor: float) -> str:
        """Return how `enlarged` changes numbers, in words."""
        limit = f" (at most {self.largest_input:g})" if self.largest_input else ""
        return f"{factor:g} times as large{limit}"

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return the floating-point inputs."""
        return {
            name: value
            for name, value in self.inputs.items()
            if isinstance(value, torch.Tensor) and value.is_floating_point()
        }


def make_case(exercise: Exercise, check: Property, size_case: SizeCase) -> Case:
    """Make the case for one size case, from torch's current random state."""
    sizes, calling_variants = size_case.sizes, size_case.calling_variants
    specs = check.all_inputs(exercise.interface)
    inputs, *others = (
        {name: _make_input(spec, sizes, pattern) for name, spec in specs.items()}
        for pattern in (Pattern if calling_variants else (Pattern.USUAL,))
    )
    axes = {name: axis for name, spec in specs.items() if (axis := _samples_axis(spec)) is not None}
    groups = inputs_of_one_shape(exercise, check, sizes)
    return Case(
        size_case=size_case,
        arguments=_arguments(exercise, check, sizes),
        inputs=inputs,
        inputs_in_variants=(others[0], others[1]) if others else (inputs, inputs),
        optional_inputs=_optional_inputs(exercise, check, sizes) if calling_variants else {},
        samples_axes=axes,
        shared={name: first for first, *others in groups for name in others},
        other_arguments=_other_arguments(exercise, check, sizes) if calling_variants else (),
        scaled=[name for name, spec in specs.items() if isinstance(spec, list)],
        largest_input=exercise.interface.largest_input,
    )


def _optional_inputs(exercise: Exercise, check: Property, sizes: dict[str, int]) -> dict[str, torch.Tensor]:
    """Make the tensors that the check leaves out, as the first of the checks that pass them to the same method."""
    own = check.all_inputs(exercise.interface)
    specs = {
        name: spec
        for each in reversed(exercise.checks)
        if each.method == check.method and not each.variation_class()
        for name, spec in each.all_inputs(exercise.interface).items()
        if name not in own and shape_of(spec)
    }
    names = {size for spec in specs.values() for size in shape_of(spec) if isinstance(size, str)}
    sizes = dict.fromkeys(names, SIZE_OF_ITS_OWN) | sizes
    return {name: _make_input(spec, sizes, Pattern.USUAL) for name, spec in specs.items()}


def _arguments(exercise: Exercise, check: Property, sizes: dict[str, int]) -> dict[str, Any]:
    """Return the constructor arguments at some sizes."""
    return {
        name: sizes.get(value, value) if isinstance(value, str) else value
        for name, value in {**exercise.interface.constructor, **check.constructor}.items()
        if name not in check.defaults
    }


def _other_arguments(exercise: Exercise, check: Property, sizes: dict[str, int]) -> tuple[dict[str, Any], ...]:
    """Return the constructor arguments of two other modules: a module of other sizes, and a module that takes the same
    inputs and differs in all other arguments.
    """
    smallest = exercise.fixed_sizes_of(check)[0]
    smaller = {name: _other(value) for name, value in _arguments(exercise, check, smallest).items()}
    in_shapes = {size for spec in check.all_inputs(exercise.interface).values() for size in shape_of(spec)}
    settings = {**exercise.interface.constructor, **check.constructor}
    kept = {
        name: value
        for name, value in _arguments(exercise, check, sizes).items()
        if isinstance(settings[name], str) and settings[name] in in_shapes
    }
    return smaller, {**smaller, **kept}


def _other(value: Any) -> Any:
    """Return another value for a constructor argument. Sizes stay as they are, because the caller already passes those
    of another size case.
    """
    if isinstance(value, bool):
        return not value
    return value / 2 if isinstance(value, float) else value


def _samples_axis(spec: Any) -> int | None:
    """Return the axis of an input's samples; None if it has none."""
    shape = shape_of(spec)
    return shape.index(SAMPLES) if SAMPLES in shape else None


def _make_input(spec: Any, sizes: dict[str, int], pattern: Pattern) -> Any:
    if isinstance(spec, list):
        return torch.randn(sizes_of(spec, sizes))
    if not isinstance(spec, MadeInput):
        return spec
    if spec.is_mask():
        return _make_mask(spec, sizes, pattern)
    if spec.zeros:
        numbers = torch.randn(sizes_of(spec.shape, sizes))
        numbers.movedim(spec.shape.index(spec.zeros), 0)[1:2] = 0.0
        return numbers
    if spec.between is not None:
        low, high = spec.between
        return low + (high - low) * torch.rand(sizes_of(spec.shape, sizes))
    return make_integers(spec, sizes)


def make_integers(spec: MadeInput, sizes: dict[str, int]) -> torch.Tensor:
    """Draw integers from `start` up to `integers`, which is included if `inclusive`.

    The smallest and the largest integer always occur if there are two elements or more.
    """
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


def _make_mask(spec: MadeInput, sizes: dict[str, int], pattern: Pattern) -> torch.Tensor:
    """Make a mask, true where a query may attend to a key. In `dead_row` masks one query has no key to attend to."""
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
    if spec.mask in (MaskKind.PADDING, MaskKind.RANDOM):
        _apply(pattern, mask, pairs, spec)
    return mask.long() if spec.integers else mask


def _apply(pattern: Pattern, mask: torch.Tensor, pairs: torch.Tensor, spec: MadeInput) -> None:
    """Change a mask in place; `pairs` is the mask with its axes of queries and keys at the end."""
    keys, axis = pairs.size(-1), _samples_axis(spec)
    if pattern is Pattern.FIRST_SAMPLE_SEES_ALL and axis is not None and mask.size(axis) > 1:
        mask.select(axis, 0).fill_(True)
    elif pattern is Pattern.GAP and spec.mask is MaskKind.PADDING:
        pairs.fill_(True)
        pairs[..., 1 : keys // 2 + 1] = keys < 3  # noqa: PLR2004 - the first and the last key stay visible
    elif pattern is Pattern.GAP and keys > 1:
        pairs[..., keys // 2] = False
        pairs[..., 0] |= ~pairs.any(-1)


def dead_row(queries: int) -> int:
    """Return the index of the query for which a `dead_row` mask hides every key."""
    return queries // 2


def seed_draws(name: str) -> None:
    """Seed torch's random numbers in this process (inputs and reference weights) with `name`."""
    torch.default_generator.manual_seed(seed_from_name(name))


def seed_from_name(name: str) -> int:
    """Return the seed that belongs to a name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
