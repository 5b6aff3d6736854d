"""Run a check at its size cases from the smallest up; report the first that fails beside the last that passed."""

import random
from collections.abc import Hashable, Iterable
from functools import partial
from typing import Any

from msgspec import Struct, structs

from grader.checks.case import Case, make_case, seed_draws
from grader.checks.compare import Failure
from grader.checks.context import Context
from grader.checks.outcome import Finding, SizeComparison, last_lines
from grader.checks.pictures import beside, recorded
from grader.checks.properties import try_case
from grader.checks.session import SubjectRaisedError
from grader.checks.size_cases import FixedAndRandom, SizeCase, runs_ends_alone
from grader.spec.properties import Property

WITH_GRAD = 0.5
"""The share of size cases that run with gradients on, where the check needs none."""


class PassedSizeCase(Struct, frozen=True, kw_only=True):
    """A size case that passed, and the tensors that were compared equal."""

    sizes: dict[str, int]
    compared: dict[Hashable, tuple[Any, Any]]


class SizeCaseFailedError(Exception):
    """A check raised `error` at a size case."""

    def __init__(
        self,
        error: Exception,
        size_case: SizeCase,
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


def walk(check: Property, context: Context, size_cases: FixedAndRandom) -> None:
    """Run a check at its size cases, from `size_cases_of`. Raise `SizeCaseFailedError` at the first one that fails.

    Where only the smallest and the largest sizes are run and the largest fail, the size cases in between are run too.
    Size cases with random sizes come last.
    """
    fixed, random_cases = size_cases
    if context.reference.is_asked_all or not runs_ends_alone(check) or len(fixed) == 1:
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


def _run(
    check: Property, context: Context, size_cases: Iterable[SizeCase], passed: PassedSizeCase | None = None
) -> PassedSizeCase | None:
    """Run size cases in order and return the last that passed. Raise `SizeCaseFailedError` at the first that fails."""
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
            try_case(check, context, structs.replace(case, grad=grad))
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
