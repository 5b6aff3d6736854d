"""One rung of a ladder: sizes, constructor arguments and inputs made for them."""

import hashlib
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from grader.course.checks import Check, MadeInput, MaskKind, Shape

if TYPE_CHECKING:
    import torch

    from grader.course.records import Exercise
    from grader.examiner.property import Property

VISIBLE_SHARE = 0.6
"""The share of pairs that a random mask leaves visible."""


IGNORED_EVERY = 4
"""One in so many whole numbers is the one that is ignored, where there is one."""


class Case(Struct, frozen=True):
    """What one rung is tried with; all of it depends on the seed, the check and the rung."""

    sizes: dict[str, int]
    arguments: dict[str, Any]
    inputs: dict[str, Any]

    def built_with(self, name: str, value: float) -> "Case":
        """The same case with another constructor argument."""
        return structs.replace(self, arguments={**self.arguments, name: value})

    def tensors(self) -> "dict[str, torch.Tensor]":
        """The floating-point inputs."""
        import torch

        return {
            name: value
            for name, value in self.inputs.items()
            if isinstance(value, torch.Tensor) and value.is_floating_point()
        }


def is_tried_at_the_ends(check: "Property") -> bool:
    """Whether the smallest and the largest sizes hold all there is to see, so that only these are tried.

    The comparison with the reference walks the whole ladder; a check that brings a ladder of its own walks all of that.
    """
    return not check.ladder and not (check.walks_all_rungs and check.is_plain())


def make_case(exercise: "Exercise", check: Check, sizes: dict[str, int]) -> Case:
    """The case for one set of sizes."""
    constructor = {**exercise.interface.constructor, **check.constructor}
    arguments = {
        name: sizes.get(value, value) if isinstance(value, str) else value
        for name, value in constructor.items()
        if name not in check.defaults
    }
    specs = check.inputs if check.method else {**exercise.interface.inputs, **check.inputs}
    inputs = {name: _make_input(spec, sizes) for name, spec in specs.items()}
    return Case(sizes, arguments, inputs)


def size_of(value: str | int, sizes: dict[str, int]) -> int:
    """A size by its name, or as it stands."""
    return sizes[value] if isinstance(value, str) else value


def _make_input(spec: Any, sizes: dict[str, int]) -> Any:
    import torch

    if isinstance(spec, list):
        return torch.randn(_shape(spec, sizes))
    if not isinstance(spec, MadeInput):
        return spec
    if spec.is_mask():
        return make_mask(spec, sizes)
    if spec.between is not None:
        low, high = spec.between
        return low + (high - low) * torch.rand(_shape(spec.shape, sizes))
    return make_integers(spec, sizes)


def make_integers(spec: MadeInput, sizes: dict[str, int]) -> "torch.Tensor":
    """Whole numbers from `start` up to and without `integers`; smallest and largest occur where there is room."""
    import torch

    assert not isinstance(spec.integers, bool)
    shape, end = _shape(spec.shape, sizes), size_of(spec.integers, sizes)
    numbers = torch.randint(spec.start, max(end, spec.start + 1), shape)
    places = torch.randperm(numbers.numel())
    flat = numbers.view(-1)
    if len(places) > 1:
        flat[places[0]], flat[places[1]] = spec.start, max(end, spec.start + 1) - 1
    if spec.ignored is not None:
        flat[places[2::IGNORED_EVERY]] = spec.ignored
    return numbers


def make_mask(spec: MadeInput, sizes: dict[str, int]) -> "torch.Tensor":
    """A mask, true where a query may look at a key; every query sees a key unless `dead_row` says otherwise."""
    import torch

    shape = _shape(spec.shape, sizes)
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


def _shape(spec: Shape, sizes: dict[str, int]) -> list[int]:
    return [size_of(size, sizes) for size in spec]


def seed_draws(name: str) -> None:
    """Make what this process draws from here on, inputs and reference weights, depend on `name` alone."""
    import torch

    torch.default_generator.manual_seed(int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big"))
