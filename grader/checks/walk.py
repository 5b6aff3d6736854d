"""Run a check at its size cases, the smallest first; report the first that fails with the last that passed."""

from collections.abc import Hashable, Iterable
from functools import partial
from typing import Any

from msgspec import Struct, structs

from grader.checks.case import Case, make_case, seed_draws
from grader.checks.compare import counted_comparisons
from grader.checks.context import Context
from grader.checks.failure import Failure
from grader.checks.outcome import LARGE, FailurePoint, Finding, SizeComparison, last_lines
from grader.checks.pictures import beside, recorded
from grader.checks.properties import try_case
from grader.checks.session import SubjectRaisedError
from grader.checks.size_cases import SizeCase, SizeCasePlan, runs_only_ends
from grader.checks.tape import Step
from grader.spec.fields import MadeInput
from grader.spec.properties import Property


class PassedSizeCase(Struct, frozen=True, kw_only=True):
    """A size case that passed, and the pairs of tensors that were equal there."""

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
        point: FailurePoint,
        in_training: bool,
        steps: list[Step],
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.size_case = size_case
        self.point = point
        self.steps = steps
        self.without_gradients = False
        self._in_training = in_training
        self.sizes = SizeComparison()
        self._printed = printed

    def complete(self, finding: Finding) -> Finding:
        """Add the size case to the finding of `error` and return it."""
        return structs.replace(
            finding,
            size_case=self.size_case.sizes,
            sizes=self.sizes,
            printed=self._printed,
            in_training=self._in_training,
        )


def walk(check: Property, context: Context, plan: SizeCasePlan) -> None:
    """Run a check at its size cases, as planned by `size_cases_of`.

    Most checks run only at the smallest and the largest fixed sizes. If the largest fail, the size cases in between run
    too. Edges and random sizes come last. Raises `SizeCaseFailedError` at the first size case that fails.
    """
    fixed = plan.fixed
    if context.reference.needs_all_size_cases or not runs_only_ends(check) or len(fixed) == 1:
        _run_after_fixed(check, context, plan, _run_size_cases(check, context, fixed))
        return
    passed = _run_size_cases(check, context, fixed[:1])
    result = _run_size_case(check, context, fixed[-1])
    if isinstance(result, PassedSizeCase):
        _run_after_fixed(check, context, plan, result)
        return
    if isinstance(result.error, Failure | SubjectRaisedError):  # the worker still answers
        passed = _run_size_cases(check, context, fixed[1:-1], passed)
    _compare_sizes(check, result, passed)
    raise result


def run_at(check: Property, context: Context, plan: SizeCasePlan, point: FailurePoint) -> None:
    """Run a check at the size case of a point alone. Raise `SizeCaseFailedError` if it fails at that point.

    Comparisons before the point may fail, because an unfixed defect fails earlier than a half-fixed one.
    """
    for size_case in plan.all():
        if size_case.name == point.size_case:
            result = _run_in_grad_mode(check, context, size_case, grad=point.grad, tolerated=point.comparisons)
            if isinstance(result, SizeCaseFailedError):
                raise result


def _run_size_cases(
    check: Property, context: Context, size_cases: Iterable[SizeCase], passed: PassedSizeCase | None = None
) -> PassedSizeCase | None:
    """Run a check at size cases in order; return the last one, or `passed` if there are none.

    Raises `SizeCaseFailedError` at the first size case that fails, compared with the last that passed.
    """
    for size_case in size_cases:
        result = _run_size_case(check, context, size_case)
        if isinstance(result, SizeCaseFailedError):
            _compare_sizes(check, result, passed)
            raise result
        passed = result
    return passed


def _run_after_fixed(check: Property, context: Context, plan: SizeCasePlan, passed: PassedSizeCase | None) -> None:
    """Run a check at the edges, each compared with the last fixed size case, and at random sizes.

    Raises `SizeCaseFailedError` at the first size case that fails.
    """
    for edge in plan.edges:
        _run_size_cases(check, context, [edge], passed)
    _run_size_cases(check, context, plan.random, passed)


def _run_size_case(check: Property, context: Context, size_case: SizeCase) -> PassedSizeCase | SizeCaseFailedError:
    """Run a check at a size case, with gradients or, where it needs none, perhaps without."""
    has_grad = size_case.grad
    result = _run_in_grad_mode(check, context, size_case, grad=has_grad)
    if has_grad or isinstance(result, PassedSizeCase) or not isinstance(result.error, Failure | SubjectRaisedError):
        return result
    with_grad = _run_in_grad_mode(check, context, size_case, grad=True)
    if isinstance(with_grad, PassedSizeCase):
        result.without_gradients = True
        return result
    return with_grad


def _run_in_grad_mode(
    check: Property, context: Context, size_case: SizeCase, *, grad: bool, tolerated: int = 0
) -> PassedSizeCase | SizeCaseFailedError:
    """Run a check at a size case once, with gradients enabled or disabled; the first comparisons may fail.

    `tolerated` is the number of those comparisons.
    """
    session = context.subject.session
    session.begin_size_case()
    with recorded() as compared, counted_comparisons(tolerated) as counted:
        try:
            case = context.reference.draw(size_case.name, partial(_draw_case, context, check, size_case))
            try_case(check, context, structs.replace(case, size_case=structs.replace(size_case, grad=grad)))
        except Exception as error:  # noqa: BLE001 - the caller raises it again with its sizes
            printed = last_lines(session.printed())
            point = FailurePoint(size_case=size_case.name, grad=grad, comparisons=counted.done)
            return SizeCaseFailedError(
                error,
                size_case,
                printed=printed,
                point=point,
                in_training=check.training,
                steps=session.tape.steps if session.tape else [],
            )
    return PassedSizeCase(sizes=size_case.sizes, compared=compared)


def _draw_case(context: Context, check: Property, size_case: SizeCase) -> Case:
    seed_draws(size_case.name)
    return make_case(context.exercise, check, size_case)


def _compare_sizes(check: Property, failed: SizeCaseFailedError, passed: PassedSizeCase | None) -> None:
    """Add to the failure a comparison of its sizes with the largest that passed, and their maps to its picture.

    Only the sizes of the calls count, after the check has replaced some. If only a calling variant fails, there is
    nothing to compare with, because no smaller size case ran in that calling variant.
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
        inputs={name: spec for name, spec in check.inputs.items() if not isinstance(spec, list | MadeInput)},
        masks={name: spec.mask for name, spec in check.inputs.items() if isinstance(spec, MadeInput) and spec.mask},
        without_gradients=failed.without_gradients,
        is_large=check.largest_size(size_case.sizes) >= LARGE,
    )
    finding = error.finding if isinstance(error, Failure) else None
    in_variant = finding is not None and finding.calling_variant is not None
    if size_case.calling_variants and in_variant:
        failed.sizes = comparison
        return
    if passed is None:
        failed.sizes = structs.replace(comparison, is_smallest=True)
        return
    passed_sizes = {name: passed.sizes[name] for name in sizes if name in passed.sizes}
    failed.sizes = structs.replace(comparison, passed=passed_sizes)
    if isinstance(error, Failure) and error.finding.picture and error.compared in passed.compared:
        changed = {name: size for name, size in passed_sizes.items() if size != sizes[name]}
        error.change(picture=beside(error.finding.picture, *passed.compared[error.compared], changed))
