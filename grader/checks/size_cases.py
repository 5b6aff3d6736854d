"""Run a check at its size cases from the smallest up; report the first that fails beside the last that passed."""

import random
from collections.abc import Hashable, Iterable
from functools import partial
from typing import Any

from msgspec import Struct, structs

from grader.checks.calling_variants import draw_calling_variants
from grader.checks.case import Case, inputs_of_one_shape, make_case, seed_draws
from grader.checks.compare import Failure
from grader.checks.outcome import CallingVariant, Finding, History, Sharing, SizeComparison, last_lines
from grader.checks.pictures import beside, recorded
from grader.checks.properties import Context, Property
from grader.checks.session import SubjectRaisedError
from grader.checks.subjects import KINDS
from grader.spec import checks as spec
from grader.spec.checks import names_in
from grader.spec.exercise import Exercise

WITH_GRAD = 0.5
"""The share of size cases that are tried with gradients on, where none are asked."""

IN_CALLING_VARIANTS = 2
"""How many of the uppermost size cases are tried in a calling variant too, where all of them are walked."""

MOST_TRIES = 50
"""As often sizes are drawn for all of them to differ."""


class PassedSizeCase(Struct, frozen=True, kw_only=True):
    """A size case that passed: its sizes, and what was compared equal there."""

    sizes: dict[str, int]
    compared: dict[Hashable, tuple[Any, Any]]


class SizeCaseFailedError(Exception):
    """A check raised `error` at a size case."""

    def __init__(
        self,
        error: Exception,
        size_case: "SizeCase",
        *,
        printed: str,
        value_path: str | None,
        without_gradients: bool = False,
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.size_case = size_case
        self.without_gradients = without_gradients
        self.sizes = SizeComparison()
        self._printed = printed
        self._value_path = value_path

    def complete(self, finding: Finding) -> Finding:
        """Return the finding of `error`, with what is known of the size case."""
        return structs.replace(
            finding,
            size_case=self.size_case.sizes,
            sizes=self.sizes,
            printed=self._printed,
            value_path=self._value_path,
        )


class SizeCase(Struct, frozen=True, kw_only=True):
    """Sizes to run a check at. What is drawn for them depends on `name` alone."""

    name: str
    sizes: dict[str, int]
    calling_variant: CallingVariant | None = None
    is_plain: bool = True


FixedAndRandom = tuple[list[SizeCase], list[SizeCase]]
"""The size cases of a list of sizes, and those above it whose sizes are drawn."""


def walk(check: Property, context: Context, size_cases: FixedAndRandom) -> None:
    """Run a check at its size cases, as `size_cases_of` gives them; `SizeCaseFailedError` at the first that fails.

    Where only the smallest and the largest sizes are run and the largest fail, the size cases in between are run too.
    Size cases with random sizes come last.
    """
    fixed, random_cases = size_cases
    if context.reference.is_asked_all or not _runs_ends_alone(check) or len(fixed) == 1:
        _run(check, context, [*fixed, *random_cases])
        return
    passed = _run(check, context, fixed[:1])
    result = _run_size_case(check, context, fixed[-1])
    if isinstance(result, PassedSizeCase):
        _run(check, context, random_cases, result)
        return
    if isinstance(result.error, Failure | SubjectRaisedError):  # the worker still answers
        passed = _run(check, context, fixed[1:-1], passed)
    _compare_sizes(check, result, passed)
    raise result


def size_cases_of(check: Property, exercise: Exercise, seed: int) -> FixedAndRandom:
    """The fixed size cases, and those above it whose sizes are drawn."""
    name = f"{seed}/{check.id}"
    fixed_sizes = [
        SizeCase(name=f"{name}/{index}", sizes=sizes) for index, sizes in enumerate(check.sizes or exercise.fixed_sizes)
    ]
    if check.draws_equal_sizes and not check.sizes:
        return fixed_sizes, [
            SizeCase(name=f"{name}/drawn", sizes=draw_sizes(spec, f"{name}/drawn")) for spec in _most_equal(exercise)
        ]
    longest = _longest(exercise)
    once_more = []
    if longest:
        once_more = [SizeCase(name=f"{name}/longest", sizes=draw_sizes(longest, f"{name}/longest"))]
    if check.draws_longest and longest and longest.keys() == fixed_sizes[0].sizes.keys():
        return fixed_sizes, once_more
    if not (check.draws_sizes and exercise.random_sizes):
        return fixed_sizes, []
    walks_all = not check.sizes and not _runs_ends_alone(check)
    specs = [] if check.sizes else exercise.random_sizes if walks_all else _some_of(exercise, check)
    names = [f"{name}/drawn {index}" for index in range(len(specs))]
    has_calling_variants = KINDS[exercise.interface.kind].has_calling_variants
    drawn = [
        SizeCase(name=each, sizes=draw_sizes(spec, each), is_plain=not has_calling_variants or each == names[0])
        for each, spec in zip(names, specs, strict=True)
    ]
    if not has_calling_variants:
        return fixed_sizes, drawn
    in_calling_variants = min(IN_CALLING_VARIANTS if walks_all else 1, len(fixed_sizes))
    required = History.REBUILT if check.constructor else None  # arguments have an order
    calling_variants = draw_calling_variants(
        name, in_calling_variants + len(drawn), in_calling_variants + len(drawn[:1]), required
    )
    for index, calling_variant in enumerate(calling_variants, start=len(fixed_sizes) - in_calling_variants):
        size_cases, place = (fixed_sizes, index) if index < len(fixed_sizes) else (drawn, index - len(fixed_sizes))
        if not inputs_of_one_shape(exercise, check, size_cases[place].sizes):
            calling_variant = structs.replace(calling_variant, sharing=Sharing.SEPARATE)  # noqa: PLW2901 - of this one
        size_cases[place] = structs.replace(size_cases[place], calling_variant=calling_variant)
    return fixed_sizes, [*drawn, *once_more] if walks_all else drawn


def _runs_ends_alone(check: Property) -> bool:
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
    if check.is_plain() or not longest or not KINDS[exercise.interface.kind].has_calling_variants:
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


def _run(
    check: Property, context: Context, size_cases: Iterable[SizeCase], passed: PassedSizeCase | None = None
) -> PassedSizeCase | None:
    """Raise at the first of the size cases that fails; `passed`, and what is returned, is the last that passed."""
    for size_case in size_cases:
        result = _run_size_case(check, context, size_case)
        if isinstance(result, SizeCaseFailedError):
            _compare_sizes(check, result, passed)
            raise result
        passed = result
    return passed


def _run_size_case(check: Property, context: Context, size_case: SizeCase) -> PassedSizeCase | SizeCaseFailedError:
    """Run a check at a size case: half of the size cases without gradients, where the check needs none."""
    has_grad = size_case.calling_variant is not None or random.Random(f"{size_case.name}/grad").random() < WITH_GRAD  # noqa: S311 - see `draw_calling_variants`
    result = _run_once(check, context, size_case, grad=has_grad)
    if has_grad or isinstance(result, PassedSizeCase) or not isinstance(result.error, Failure | SubjectRaisedError):
        return result
    with_grad = _run_once(check, context, size_case, grad=True)
    if isinstance(with_grad, PassedSizeCase):
        result.without_gradients = True
        return result
    return with_grad


def _run_once(
    check: Property, context: Context, size_case: SizeCase, *, grad: bool
) -> PassedSizeCase | SizeCaseFailedError:
    """Run a check once, with gradients or without."""
    context.read_printed()  # leave out what smaller sizes printed
    with recorded() as compared:
        try:
            case = context.reference.draw(size_case.name, partial(_draw_case, context, check, size_case))
            check.try_case(context, structs.replace(case, grad=grad))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again with its sizes
            wrong = error.wrong if isinstance(error, Failure) else None
            value_path = wrong.path_within(context.last_returned()) if wrong else None
            printed = last_lines(context.read_printed())
            return SizeCaseFailedError(error, size_case, printed=printed, value_path=value_path)
    return PassedSizeCase(sizes=size_case.sizes, compared=compared)


def _draw_case(context: Context, check: Property, size_case: SizeCase) -> Case:
    seed_draws(size_case.name)
    return make_case(context.exercise, check, size_case.sizes, size_case.calling_variant, is_plain=size_case.is_plain)


def _compare_sizes(check: Property, failed: SizeCaseFailedError, passed: PassedSizeCase | None) -> None:
    """Compare the sizes that failed with the largest that passed, and add what is drawn there to a picture.

    Only the sizes that the calls were made with count: what the check gives in place of a size replaces it. Where only
    a calling variant fails, there is nothing to compare with: no smaller sizes were run in it.
    """
    size_case, error = failed.size_case, failed.error
    sizes = check.sizes_of_calls(size_case.sizes)
    constructor = {
        name: size_case.sizes.get(value, value) if isinstance(value, str) else value
        for name, value in check.constructor.items()
    }
    comparison = SizeComparison(
        failed=sizes,
        constructor=constructor,
        defaults=list(check.defaults),
        without_gradients=failed.without_gradients,
    )
    finding = error.finding if isinstance(error, Failure) else None
    in_variant = finding is not None and finding.calling_variant is not None
    if size_case.calling_variant is not None and in_variant:
        failed.sizes = comparison
        return
    if passed is None:
        failed.sizes = structs.replace(comparison, is_smallest=True)
        return
    passed_sizes = {name: passed.sizes[name] for name in sizes if name in passed.sizes}
    failed.sizes = structs.replace(comparison, passed=passed_sizes)
    if isinstance(error, Failure) and error.finding.picture and error.compared in passed.compared:
        changed = {name: size for name, size in passed_sizes.items() if size != sizes[name]}
        error.add(picture=beside(error.finding.picture, *passed.compared[error.compared], changed))
