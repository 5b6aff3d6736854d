"""Choose the sizes at which a check runs: the fixed size cases, and the random ones with their calling variants."""

import functools
import random
import zlib
from typing import Any

from msgspec import Struct, structs

from grader.checks.calling_variant_choice import CallingVariantCheck, choose_calling_variants
from grader.checks.outcome import LARGE
from grader.sandbox.calling_variants import CallingVariant, Sharing
from grader.spec.exercise import Exercise
from grader.spec.fields import SizeCases, names_in, sizes_of
from grader.spec.properties import Property

LAST_FIXED = -1
"""The place of the last fixed size case among those at which calling variants run."""

MAX_TRIES = 50
"""The most attempts to draw sizes that all differ."""


class SizeCase(Struct, frozen=True, kw_only=True):
    """Sizes at which a check runs. Random values drawn for them depend only on `name`."""

    name: str = ""
    sizes: dict[str, int]
    place: int | None = None
    """Identifies the size case in the covering array of calling variants; None if no calling variants run there."""
    calling_variants: tuple[CallingVariant, ...] = ()
    """The calling variants of further calls."""
    is_plain: bool = True
    """Whether the check makes a plain call before the calling variants."""
    grad: bool = True
    """Whether calls that need no gradients run with gradients enabled."""
    compares_gradients: bool = True
    """Whether gradients are compared too; they are not at the edges."""


class SizeCasePlan(Struct, frozen=True, kw_only=True):
    """The size cases of one check in one run."""

    fixed: list[SizeCase]
    """From `sizes` of the check or the exercise, the smallest first."""
    edges: list[SizeCase] = []
    """The largest fixed sizes with one small axis each."""
    random: list[SizeCase] = []

    def all(self) -> list[SizeCase]:
        """Return all size cases in the order in which they run."""
        return [*self.fixed, *self.edges, *self.random]


def size_cases_of(check: Property, exercise: Exercise, seed: int) -> SizeCasePlan:
    """Plan the size cases of a check."""
    return SizeCasePlanner(exercise).plan(check, seed)


class SizeCasePlanner:
    """Plans the size cases of an exercise's checks. Values that depend on no seed are computed once."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self._longest = _longest(exercise.random_sizes, exercise.interface.inputs)
        self._most_equal = max(exercise.random_sizes, key=_count_of_equal_sizes, default=None)
        self._factors = {
            name: size[0]
            for spec in exercise.random_sizes
            for name, size in spec.items()
            if isinstance(size, list) and isinstance(size[0], str)
        }
        self._free_sizes = {
            name
            for spec in exercise.random_sizes[:1]
            for name, size in spec.items()
            if isinstance(size, list) and isinstance(size[0], int)
        }
        self._has_calling_variants = bool(exercise.random_sizes) and exercise.interface.kind.has_calling_variants

    def plan(self, check: Property, seed: int) -> SizeCasePlan:
        """Plan the size cases of a check."""
        fixed, random = self._sizes_of(check, f"{seed}/{check.id}")
        uses_calling_variants = self._uses_calling_variants(check)
        run = [fixed[0], fixed[-1]] if runs_only_ends(check) else fixed
        with_grad = [
            each for number, each in enumerate([*run, *random]) if uses_calling_variants or number % 2 == _parity(check)
        ]

        def completed(size_cases: list[SizeCase]) -> list[SizeCase]:
            return [
                structs.replace(
                    each,
                    calling_variants=self._calling_variants(check, each) if uses_calling_variants else (),
                    grad=each in with_grad and check.largest_size(each.sizes) < LARGE,
                )
                for each in size_cases
            ]

        return SizeCasePlan(
            fixed=completed(fixed), edges=self._edges(check, f"{seed}/{check.id}"), random=completed(random)
        )

    def _edges(self, check: Property, name: str) -> list[SizeCase]:
        """Return size cases that differ from the largest fixed one in one axis of an input.

        This axis gets its smallest size, and in another case the smallest size plus one. If a check has inputs or a
        constructor of its own and no method, it runs in the second case alone. Only axes with a range of their own in
        the first random sizes become small; sizes that are multiples of such an axis change with it. Gradients are not
        compared in these cases.
        """
        if check.sizes or not check.walks_all_size_cases:
            return []
        smallest, largest = self.exercise.fixed_sizes[0], self.exercise.fixed_sizes[-1]
        axes = {axis for shape in check.all_inputs(self.exercise.interface).values() for axis in names_in(shape)}
        first_step = 0 if check.method or check.is_plain() else 1
        edges = []
        for axis in [each for each in largest if each in axes & self._free_sizes]:
            multiples = [multiple for multiple, factor in self._factors.items() if factor == axis]
            for size in range(smallest[axis] + first_step, min(smallest[axis] + 2, largest[axis])):
                scaled = {multiple: largest[multiple] * size // largest[axis] for multiple in multiples}
                sizes = {**largest, **scaled, axis: size}
                edges.append(SizeCase(name=f"{name}/{axis} {size}", sizes=sizes, compares_gradients=False))
        return [each for each in edges if each.sizes not in self.exercise.fixed_sizes]

    @functools.cached_property
    def calling_variant_checks(self) -> tuple[CallingVariantCheck, ...]:
        """The checks that call the module in calling variants."""
        return tuple(
            self._calling_variant_check(check) for check in self.exercise.checks if self._uses_calling_variants(check)
        )

    def _sizes_of(self, check: Property, name: str) -> tuple[list[SizeCase], list[SizeCase]]:
        """Return the fixed size cases and the random ones, without their calling variants."""
        fixed_sizes, random_sizes = self.exercise.fixed_sizes_of(check), self.exercise.random_sizes
        fixed = [SizeCase(name=f"{name}/{index}", sizes=sizes) for index, sizes in enumerate(fixed_sizes)]
        if self._varies_last_fixed(check):
            fixed[-1] = structs.replace(fixed[-1], place=LAST_FIXED)
        longest = self._longest
        if check.uses_equal_sizes and not check.sizes:
            specs = [] if self._most_equal is None else [self._most_equal]
            return fixed, [SizeCase(name=f"{name}/drawn", sizes=draw_sizes(spec, f"{name}/drawn")) for spec in specs]
        once_more = [SizeCase(name=f"{name}/longest", sizes=draw_sizes(longest, f"{name}/longest"))] if longest else []
        if check.uses_longest_input and longest and longest.keys() == fixed_sizes[0].keys():
            return fixed, once_more
        if not (check.uses_random_sizes and random_sizes):
            return fixed, []
        has_calling_variants = self.exercise.interface.kind.has_calling_variants
        random_cases = [
            SizeCase(
                name=f"{name}/drawn-{place}",
                sizes=draw_sizes(random_sizes[place], f"{name}/drawn-{place}"),
                is_plain=not has_calling_variants or place == 0,
                place=place,
            )
            for place in map(random_sizes.index, self._random_specs(check))
        ]
        return fixed, [*random_cases, *once_more] if _runs_all(check) and has_calling_variants else random_cases

    def _random_specs(self, check: Property) -> SizeCases:
        """Return the specifications of random sizes at which a check runs.

        A check that runs at all size cases gets all of them. Any other check gets the first; if it has inputs or
        arguments of its own, also the longest and the one with the most equal sizes.
        """
        if check.sizes:
            return []
        if _runs_all(check):
            return self.exercise.random_sizes
        first, longest, most_equal = self.exercise.random_sizes[:1], self._longest, self._most_equal
        if check.is_plain() or longest is None or not self.exercise.interface.kind.has_calling_variants:
            return first
        return [*first, longest, *([] if most_equal is None or most_equal is longest else [most_equal])]

    def _varies_last_fixed(self, check: Property) -> bool:
        """Return whether calling variants run at the last fixed size case, because there are no random sizes."""
        return not self._random_specs(check)

    def _uses_calling_variants(self, check: Property) -> bool:
        """Return whether a check calls the module in calling variants."""
        return self._has_calling_variants and check.uses_calling_variants()

    def _calling_variant_check(self, check: Property) -> CallingVariantCheck:
        exercise = self.exercise
        fixed_sizes, random_sizes = exercise.fixed_sizes_of(check), exercise.random_sizes
        sizes = {LAST_FIXED: fixed_sizes[-1]} if self._varies_last_fixed(check) else {}
        sizes |= {random_sizes.index(spec): draw_sizes(spec, "any-sizes") for spec in self._random_specs(check)}
        return CallingVariantCheck(
            id=check.id,
            places=(*sizes,),
            sharing=frozenset(place for place, each in sizes.items() if inputs_of_one_shape(exercise, check, each)),
            by_position=bool(check.method) or not exercise.interface.keyword_only,
            built_by_position=not exercise.interface.constructor_keyword_only,
            of_function=bool(exercise.interface.function),
            trains_after_inference=exercise.interface.trains_after_inference,
        )

    def _calling_variants(self, check: Property, case: SizeCase) -> tuple[CallingVariant, ...]:
        """Return the calling variants; if no two inputs have the same shape, none of them shares tensors."""
        variants = choose_calling_variants(self.calling_variant_checks).get((check.id, case.place), ())
        if inputs_of_one_shape(self.exercise, check, case.sizes):
            return variants
        return tuple(structs.replace(each, sharing=Sharing.SEPARATE) for each in variants)


def _runs_all(check: Property) -> bool:
    """Return whether a check runs at all size cases of the exercise."""
    return not check.sizes and not runs_only_ends(check)


def _parity(check: Property) -> int:
    """For a check that needs no gradients, return which of its size cases run with gradients enabled: 1 for the odd
    size cases, 0 for the even ones.
    """
    return zlib.crc32(check.id.encode()) % 2


def runs_only_ends(check: Property) -> bool:
    """Return whether a check runs only at the smallest and the largest fixed sizes, which suffice for most checks.

    The comparison with the reference runs at all sizes, and so does a check with `sizes` of its own.
    """
    return not check.sizes and not (check.walks_all_size_cases and check.is_plain())


def draw_sizes(spec: dict[str, Any], name: str) -> dict[str, int]:
    """Draw the sizes of a random size case, all different if possible; they depend only on `name`."""
    draw = random.Random(name)  # noqa: S311 - the seed is secret and used in one run
    factors_first = sorted(spec, key=lambda size: isinstance(spec[size], list) and isinstance(spec[size][0], str))
    is_random = any(isinstance(size, list) and size[-2] != size[-1] for size in spec.values())
    always_equal = sum(isinstance(size, list) and size[1:] == [1, 1] for size in spec.values())
    sizes: dict[str, int] = {}
    for _ in range(MAX_TRIES if is_random else 1):
        sizes = {}
        for size in factors_first:
            *factor, low, high = spec[size] if isinstance(spec[size], list) else (spec[size], spec[size])
            sizes[size] = draw.randint(low, high) * (sizes[factor[0]] if factor else 1)
        if len(set(sizes.values())) == len(sizes) - always_equal:
            break
    return {size: sizes[size] for size in spec}


def _count_of_equal_sizes(spec: dict[str, Any]) -> int:
    """Return how many of the drawn sizes repeat an earlier one."""
    sizes = draw_sizes(spec, "most-equal")
    return len(sizes) - len({*sizes.values()})


def _longest(random_sizes: SizeCases, inputs: dict[str, Any]) -> dict[str, int | list[str | int]] | None:
    """Return the specification of random sizes, after the first, with the longest inputs; None if there is none."""
    names = set().union(*map(names_in, inputs.values()))

    def length(spec: dict[str, int | list[str | int]]) -> int:
        ends = [size[-1] if isinstance(size, list) else size for name, size in spec.items() if name in names]
        return max((end for end in ends if isinstance(end, int)), default=0)

    return max(random_sizes[1:], key=length, default=None)


def inputs_of_one_shape(exercise: Exercise, check: Property, sizes: dict[str, int]) -> list[list[str]]:
    """Return the names of floating-point inputs with equal shapes, in groups of two or more."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, spec in check.all_inputs(exercise.interface).items():
        if isinstance(spec, list):
            groups.setdefault(tuple(sizes_of(spec, sizes)), []).append(name)
    return [names for names in groups.values() if len(names) > 1]
