"""Call a module in calling variants, and compare the returned values with the reference's."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from grader.checks.case import Case
from grader.checks.compare import FLOAT32, LARGE_INPUTS, Compared, Failure, Tolerance, compare
from grader.checks.outcome import LARGE_SCALE, CallingVariant, Dtype, FailureKind, Layout, Mode, Scale
from grader.checks.proxies import ModuleProxy
from grader.checks.session import SubjectRaisedError, unexpected_reply
from grader.sandbox.probes import calling_variants as probe
from grader.spec.exercise import Exercise

Calls = Sequence[tuple[CallingVariant, int]]
"""Calling variants, each with an index into `Case.inputs_in_variants`: the inputs of that call."""


def call_in_calling_variants(calls: Calls, case: Case, method: str, module: ModuleProxy) -> Iterator[Any]:
    """Yield the value that the module returns in each calling variant.

    Raise `SubjectRaisedError` when the module raises in the next variant.
    """
    asked = [[*map(str, variant.changes()), *(["others"] if number else [])] for variant, number in calls]
    while asked:
        values = module.run_probe(
            probe.call_in_variants,
            case.inputs_in_variants[0],
            others=case.inputs_in_variants[1],
            variants=asked,
            called=method,
            sample_axes=case.samples_axes,
            shared=case.shared,
            scales=dict.fromkeys(case.scaled, LARGE_SCALE),
        )
        if not (isinstance(values, list) and 0 < len(values) <= len(asked)):
            raise unexpected_reply()
        yield from values
        asked = asked[len(values) :]  # the module raised in the next call, or the reply was full


def compare_in_calling_variants(
    case: Case,
    method: str,
    ours: ModuleProxy,
    theirs: ModuleProxy,
    exercise: Exercise,
    in_float64: Tolerance = FLOAT32,
    axes: tuple[tuple[str, ...], ...] = (),
) -> None:
    """Raise `Failure` if the module differs from the reference in one of the case's calling variants.

    Training mode is used only if the reference returns the same values in both modes. If it does not, it may keep
    statistics, so it is called in the same variants as the submission. Otherwise it returns the same values with any
    history, so it is called in fewer variants.
    """
    calls = [(variant, number % 2) for number, variant in enumerate(case.calling_variants)]
    if theirs.run_probe(probe.is_same_in_training, case.inputs_in_variants[0], called=method):
        ours.training = theirs.training = False
        their_calls = [(_of_the_same_values(variant), number) for variant, number in calls]
        asked = [*dict.fromkeys(their_calls)]
        answers = dict(zip(asked, call_in_calling_variants(asked, case, method, theirs), strict=True))
        expected = [answers[call] for call in their_calls]
    else:
        calls = [(_for_statistics(variant), number) for variant, number in calls]
        expected = [*call_in_calling_variants(calls, case, method, theirs)]
    observed = call_in_calling_variants(calls, case, method, ours)
    for (variant, _), right in zip(calls, expected, strict=True):
        try:
            value = next(observed)
        except SubjectRaisedError as error:
            raise Failure(
                FailureKind.CALLING_VARIANT, calling_variant=variant, expected="an output", observed=str(error)
            ) from None
        usual = in_float64 if variant.dtype is Dtype.FLOAT64 else FLOAT32
        tolerance = LARGE_INPUTS if variant.scale is Scale.LARGE else usual
        try:
            compare(
                value,
                right,
                Compared(action=method or exercise.interface.called(), calling_variant=variant, axes=axes),
                tolerance,
            )
        except Failure as failure:
            failure.returned = value
            raise


def _for_statistics(variant: CallingVariant) -> CallingVariant:
    """Return the variant for a module that keeps statistics: without equal samples, which would magnify rounding."""
    layout = Layout.CONTIGUOUS if variant.layout is Layout.EXPANDED else variant.layout
    return structs.replace(variant, mode=Mode.UNCHANGED, layout=layout)


def _of_the_same_values(variant: CallingVariant) -> CallingVariant:
    """Return the cheapest variant in which a module without state returns the same values."""
    is_expanded = variant.layout is Layout.EXPANDED
    return CallingVariant(
        dtype=variant.dtype,
        layout=Layout.EXPANDED if is_expanded else Layout.CONTIGUOUS,
        sharing=variant.sharing,
        scale=variant.scale,
    )
