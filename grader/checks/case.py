"""One size case of a list of sizes: sizes, constructor arguments and inputs made for them."""

import hashlib
from typing import Any

import torch
from msgspec import Struct, structs

from grader.checks.calling_variants import LOUDNESS, CallingVariant
from grader.checks.size_cases import inputs_alike
from grader.spec.exercise import Exercise
from grader.spec.fields import MadeInput, MaskKind, size_of, sizes_of
from grader.spec.properties import SAMPLES, Property

VISIBLE_SHARE = 0.6
"""The share of pairs that a random mask leaves visible."""

IGNORED_EVERY = 4
"""One in so many whole numbers is the one that is ignored, where there is one."""


class Case(Struct, frozen=True):
    """What one size case is tried with; all of it depends on the seed, the check and the size case."""

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
    """Whether calls of which no gradients are asked keep what a backward pass needs."""

    def built_with(self, name: str, value: float) -> "Case":
        """The same case with another constructor argument."""
        return structs.replace(self, arguments={**self.arguments, name: value})

    def inputs_with_change(self, name: str, axis: int, index: int) -> dict[str, Any]:
        """The inputs with one token or sample of one drawn anew; whole numbers become others of the same input."""
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
    if calling_variant and "shared" in calling_variant.words:
        again |= {name: again[first] for first, *others in inputs_alike(exercise, check, sizes) for name in others}
    axes = {name: axis for name, spec in specs.items() if (axis := _samples_axis(spec)) is not None}
    return Case(sizes, arguments, inputs, again, axes, calling_variant, is_plain)


def _samples_axis(spec: Any) -> int | None:
    """The axis of an input along which its samples lie."""
    shape = spec if isinstance(spec, list) else spec.shape if isinstance(spec, MadeInput) else []
    return shape.index(SAMPLES) if SAMPLES in shape else None


def _in_calling_variant(value: Any, spec: Any, calling_variant: CallingVariant) -> Any:
    """An input for a call in a calling variant: what is expanded there is one sample many times here."""
    if not isinstance(value, torch.Tensor):
        return value
    axis = _samples_axis(spec)
    if "expanded" in calling_variant.words and axis is not None:
        value = value.narrow(axis, 0, 1).expand(value.shape).contiguous()
    return value * LOUDNESS if "loud" in calling_variant.words and isinstance(spec, list) else value


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
    """Make what this process draws from here on, inputs and reference weights, depend on `name` alone."""
    torch.default_generator.manual_seed(int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big"))
