"""Which sizes a check is tried at: the fixed size cases, and the random ones with their calling variants."""

import random
from typing import Any

from msgspec import Struct, structs

from grader.checks.calling_variants import CallingVariant, draw_calling_variants
from grader.spec.exercise import Exercise
from grader.spec.fields import SizeCases, names_in, sizes_of
from grader.spec.properties import Property

NO_GRAD_ALONE = "wrong under no_grad alone"


IN_CALLING_VARIANTS = 2
"""How many of the uppermost size cases are tried in a calling variant too, where all of them are walked."""


MOST_TRIES = 50
"""As often sizes are drawn for all of them to differ."""


class SizeCase(Struct, frozen=True):
    """Sizes to try a check at. What is drawn for them depends on `name` alone."""

    name: str
    sizes: dict[str, int]
    calling_variant: CallingVariant | None = None
    is_plain: bool = True


FixedAndRandom = tuple[list[SizeCase], list[SizeCase]]
"""The size cases of a list of sizes, and those above it whose sizes are drawn."""


def size_cases_of(check: Property, exercise: Exercise, seed: int) -> FixedAndRandom:
    """The fixed size cases, and those above it whose sizes are drawn."""
    name = f"{seed}/{check.id}"
    fixed_sizes = [
        SizeCase(f"{name}/{index}", sizes) for index, sizes in enumerate(check.sizes or exercise.fixed_sizes)
    ]
    if check.draws_equal_sizes and not check.sizes:
        return fixed_sizes, [
            SizeCase(f"{name}/drawn", draw_sizes(spec, f"{name}/drawn")) for spec in _most_equal(exercise)
        ]
    longest = _longest(exercise)
    once_more = [SizeCase(f"{name}/longest", draw_sizes(longest, f"{name}/longest"))] if longest else []
    if check.draws_longest and longest and longest.keys() == fixed_sizes[0].sizes.keys():
        return fixed_sizes, once_more
    if not (check.draws_sizes and exercise.random_sizes):
        return fixed_sizes, []
    walks_all = not check.sizes and not is_tried_at_the_ends(check)
    specs = [] if check.sizes else exercise.random_sizes if walks_all else _some_of(exercise, check)
    names = [f"{name}/drawn {index}" for index in range(len(specs))]
    has_calling_variants = exercise.interface.kind.has_calling_variants
    drawn = [
        SizeCase(each, draw_sizes(spec, each), is_plain=not has_calling_variants or each == names[0])
        for each, spec in zip(names, specs, strict=True)
    ]
    if not has_calling_variants:
        return fixed_sizes, drawn
    in_calling_variants = min(IN_CALLING_VARIANTS if walks_all else 1, len(fixed_sizes))
    surely = "rebuilt" if check.constructor else ""  # arguments have an order
    calling_variants = draw_calling_variants(
        name, in_calling_variants + len(drawn), in_calling_variants + len(drawn[:1]), surely
    )
    for index, calling_variant in enumerate(calling_variants, start=len(fixed_sizes) - in_calling_variants):
        size_cases, place = (fixed_sizes, index) if index < len(fixed_sizes) else (drawn, index - len(fixed_sizes))
        can_share = inputs_alike(exercise, check, size_cases[place].sizes)
        size_cases[place] = structs.replace(
            size_cases[place], calling_variant=calling_variant if can_share else calling_variant.without("shared")
        )
    return fixed_sizes, [*drawn, *once_more] if walks_all else drawn


def is_tried_at_the_ends(check: Property) -> bool:
    """Whether the smallest and the largest sizes hold all there is to see, so that only these are tried.

    The comparison with the reference walks the whole sizes; a check that brings a sizes of its own walks all of that.
    """
    return not check.sizes and not (check.walks_all_size_cases and check.is_plain())


def draw_sizes(spec: dict[str, Any], name: str) -> dict[str, int]:
    """The sizes of a drawn size case, all different where that can be; they depend on `name` alone."""
    draw = random.Random(name)  # noqa: S311 - the seed is a run's own, and secret
    factors_first = sorted(spec, key=lambda size: isinstance(spec[size], list) and isinstance(spec[size][0], str))
    sizes: dict[str, int] = {}
    for _ in range(MOST_TRIES):
        sizes = {}
        for size in factors_first:
            *factor, low, high = spec[size] if isinstance(spec[size], list) else (spec[size], spec[size])
            sizes[size] = draw.randint(low, high) * (sizes[factor[0]] if factor else 1)
        if len(set(sizes.values())) == len(sizes):
            break
    return {size: sizes[size] for size in spec}


def _some_of(exercise: Exercise, check: Property) -> SizeCases:
    """The first of the drawn size cases; for inputs or arguments of the check's own also the longest and the most
    equal.
    """
    first, longest = exercise.random_sizes[:1], _longest(exercise)
    if check.is_plain() or not longest or not exercise.interface.kind.has_calling_variants:
        return first
    return [*first, longest, *(spec for spec in _most_equal(exercise) if spec is not longest)]


def _most_equal(exercise: Exercise) -> SizeCases:
    """Of the drawn size cases that in which most sizes are the same, if there is any."""

    def different(spec: dict[str, Any]) -> int:
        sizes = draw_sizes(spec, "most equal")
        return len({*sizes.values()}) - len(sizes)

    return sorted(exercise.random_sizes, key=different)[:1]


def _longest(exercise: Exercise) -> dict[str, int | list[str | int]] | None:
    """Of the drawn size cases after the first, that of the longest inputs."""
    names = set().union(*map(names_in, exercise.interface.inputs.values()))

    def longest(spec: dict[str, int | list[str | int]]) -> int:
        ends = [size[-1] if isinstance(size, list) else size for name, size in spec.items() if name in names]
        return max((end for end in ends if isinstance(end, int)), default=0)

    return max(exercise.random_sizes[1:], key=longest, default=None)


def inputs_alike(exercise: Exercise, check: Property, sizes: dict[str, int]) -> list[list[str]]:
    """The names of floating-point inputs in groups of one shape, where there are two or more."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, spec in check.all_inputs(exercise.interface).items():
        if isinstance(spec, list):
            groups.setdefault(tuple(sizes_of(spec, sizes)), []).append(name)
    return [names for names in groups.values() if len(names) > 1]
