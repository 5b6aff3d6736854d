"""Walk a check up its sizes of sizes; the first size case that fails is reported beside the last that passed."""

import random
from collections.abc import Iterable
from functools import partial
from typing import Any

from msgspec import Struct, structs

from grader.checks.calling_variants import CallingVariant, draw_calling_variants
from grader.checks.case import Case, inputs_alike, make_case, seed_draws
from grader.checks.compare import Failure
from grader.checks.outcome import Tried, last_lines
from grader.checks.pictures import beside, recorded
from grader.checks.properties import Context, Property
from grader.checks.session import SubjectRaisedError
from grader.sandbox.text import as_arguments
from grader.spec import checks as spec
from grader.spec.checks import names_in
from grader.spec.exercise import Exercise

WITH_GRAD = 0.5
"""The share of size cases that are tried with gradients on, where none are asked."""

NO_GRAD_ALONE = "wrong under no_grad alone"

IN_CALLING_VARIANTS = 2
"""How many of the uppermost size cases are tried in a calling variant too, where all of them are walked."""

MOST_TRIES = 50
"""As often sizes are drawn for all of them to differ."""


class Passed(Struct, frozen=True):
    """What passed: its sizes, and what was compared equal there."""

    sizes: dict[str, int]
    compared: dict[str, tuple[Any, Any]]


class SizeCase(Struct, frozen=True):
    """Sizes to try a check at. What is drawn for them depends on `name` alone."""

    name: str
    sizes: dict[str, int]
    calling_variant: CallingVariant | None = None
    is_plain: bool = True


FixedAndRandom = tuple[list[SizeCase], list[SizeCase]]
"""The size cases of a list of sizes, and those above it whose sizes are drawn."""


def walk(check: Property, context: Context, size_cases: FixedAndRandom) -> None:
    """Try a check's size cases, as `size_cases_of` gives them; an error has a note that compares it with the last
    that passed.

    Where only the ends of the sizes are tried and the upper one fails, the size cases in between are tried too. Size
    cases whose sizes are drawn come last.
    """
    fixed_sizes, drawn = size_cases
    if context.reference.is_asked_all or not _is_tried_at_the_ends(check) or len(fixed_sizes) == 1:
        _try(check, context, [*fixed_sizes, *drawn])
        return
    below = _try(check, context, fixed_sizes[:1])
    result = _try_size_case(check, context, fixed_sizes[-1])
    if isinstance(result, Passed):
        _try(check, context, drawn, result)
        return
    if isinstance(result, Failure | SubjectRaisedError):  # the worker still answers
        below = _try(check, context, fixed_sizes[1:-1], below)
    _tell_sizes(check, result, below, fixed_sizes[-1])
    raise result


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
    walks_all = not check.sizes and not _is_tried_at_the_ends(check)
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


def _is_tried_at_the_ends(check: Property) -> bool:
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


def _some_of(exercise: Exercise, check: Property) -> spec.SizeCases:
    """The first of the drawn size cases; for inputs or arguments of the check's own also the longest and the most
    equal.
    """
    first, longest = exercise.random_sizes[:1], _longest(exercise)
    if check.is_plain() or not longest or not exercise.interface.kind.has_calling_variants:
        return first
    return [*first, longest, *(spec for spec in _most_equal(exercise) if spec is not longest)]


def _most_equal(exercise: Exercise) -> spec.SizeCases:
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


def _try(
    check: Property, context: Context, size_cases: Iterable[SizeCase], passed: Passed | None = None
) -> Passed | None:
    """Raise at the first of the size cases that fails; `passed`, and what is returned, is the last that passed."""
    for size_case in size_cases:
        result = _try_size_case(check, context, size_case)
        if isinstance(result, Exception):
            _tell_sizes(check, result, passed, size_case)
            raise result
        passed = result
    return passed


def _try_size_case(check: Property, context: Context, size_case: SizeCase) -> Passed | Exception:
    """What passed, or what the check raises at a size case; one of two is tried without gradients, where none are
    asked.
    """
    has_grad = size_case.calling_variant is not None or random.Random(f"{size_case.name}/grad").random() < WITH_GRAD  # noqa: S311 - see `draw_calling_variants`
    result = _try_once(check, context, size_case, grad=has_grad)
    if has_grad or not isinstance(result, Failure | SubjectRaisedError):
        return result
    with_grad = _try_once(check, context, size_case, grad=True)
    if isinstance(with_grad, Passed):
        result.add_note(NO_GRAD_ALONE)
        return result
    return with_grad


def _try_once(check: Property, context: Context, size_case: SizeCase, *, grad: bool) -> Passed | Exception:
    """What passed, or what the check raises, with gradients or without."""
    context.read_printed()  # what smaller sizes printed is of no interest
    with recorded() as compared:
        try:
            case = context.reference.draw(size_case.name, partial(_draw_case, context, check, size_case))
            check.try_case(context, structs.replace(case, grad=grad))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again with a note
            wrong = error.wrong if isinstance(error, Failure) else None
            place = wrong.within(context.last_returned()) if wrong else None
            expected = wrong.expected if wrong and place is not None else ""
            vars(error)["tried"] = Tried(size_case.sizes, last_lines(context.read_printed()), place or "", expected)
            return error
    return Passed(size_case.sizes, compared)


def _draw_case(context: Context, check: Property, size_case: SizeCase) -> Case:
    seed_draws(size_case.name)
    return make_case(context.exercise, check, size_case.sizes, size_case.calling_variant, is_plain=size_case.is_plain)


def _tell_sizes(check: Property, error: Exception, passed: Passed | None, failed: SizeCase) -> None:
    """Add a note that compares the sizes, and to a picture what it is like at those that pass.

    It names the two that were tried and claims nothing of those in between, which no size case has.

    Only what the call was made with is told: what the check gives in place of a size stands for it, and where only a
    calling variant fails, in which no smaller sizes were tried, there is nothing to compare with.
    """
    sizes, built = check.sizes_of_calls(failed.sizes), _built_with(check, failed.sizes)
    if failed.calling_variant is not None and str(error).startswith(failed.calling_variant.described()):
        error.add_note(f"wrong with {as_arguments(sizes)}{built}")
        return
    if passed is None:
        error.add_note(
            f"wrong already with {as_arguments(sizes)}{built}" if sizes else f"wrong{built.replace(',', '', 1)}"
        )
        return
    changed = [name for name in sizes if sizes[name] != passed.sizes.get(name)]
    wrong = {name: sizes[name] for name in changed}
    right = as_arguments({name: passed.sizes[name] for name in changed if name in passed.sizes})
    error.add_note(f"wrong with {as_arguments(wrong)}; right with {right}")
    if isinstance(error, Failure) and error.picture and error.pictured in passed.compared:
        error.picture = beside(error.picture, *passed.compared[error.pictured], right)


def _built_with(check: Property, sizes: dict[str, int]) -> str:
    """What the check builds the module with besides, or leaves out."""
    plain = {
        name: sizes.get(value, value) if isinstance(value, str) else value for name, value in check.constructor.items()
    }
    given = as_arguments(plain)
    left_out = " and ".join(check.defaults)
    return f", built with {given}" * bool(given) + f", {left_out} left at the default" * bool(left_out)
