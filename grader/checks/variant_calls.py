"""Call a module in calling variants, and compare the returned values with the reference's."""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from msgspec import structs

from grader.checks import outcome
from grader.checks.case import Case
from grader.checks.compare import (
    FLOAT32,
    FLOAT64,
    FLOAT64_GRADIENT,
    GRADIENT_OF_ANY_SIZE,
    GRADIENT_OF_LARGE_INPUTS,
    LARGE_INPUTS,
    LARGE_INPUTS_FLOAT64,
    Compared,
    Failure,
    Tolerance,
    compare,
    compare_gradients,
)
from grader.checks.outcome import LARGE_SCALE, CallingVariant, Dtype, FailureKind, History, Layout, Mode, Scale
from grader.checks.pictures import NEGLIGIBLE, Gradients
from grader.checks.proxies import ModuleProxy
from grader.checks.session import SubjectRaisedError, unexpected_reply
from grader.sandbox.probes import calling_variants as probe
from grader.spec.exercise import Exercise

NEGLIGIBLE_OF_ANY_SIZE = 10 * NEGLIGIBLE
"""Below this, a gradient that is a sum over many samples or tokens is a rounding error of zero, in float32."""

Calls = Sequence[tuple[CallingVariant, int]]
"""Calling variants, each with an index into `Case.inputs_in_variants`: the inputs of that call."""


def call_in_calling_variants(
    calls: Calls, case: Case, method: str, module: ModuleProxy, learning: Sequence[list[str]] = ()
) -> Iterator[Any]:
    """Yield the value that the module returns in each calling variant; with `learning`, also its gradients.

    `learning` has the names of the inputs that get gradients in each call.

    Raise `SubjectRaisedError` when the module raises in the next variant.
    """
    asked, learns = (
        [[*map(str, variant.changes()), *(["others"] if number else [])] for variant, number in calls],
        [*learning],
    )
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
            other_arguments=case.other_arguments,
            learning=learns,
        )
        if not (isinstance(values, list) and 0 < len(values) <= len(asked)):
            raise unexpected_reply()
        yield from values
        asked = asked[len(values) :]  # the module raised in the next call, or the reply was full
        learns = learns[len(values) :]


def compare_in_calling_variants(
    case: Case,
    method: str,
    ours: ModuleProxy,
    theirs: ModuleProxy,
    exercise: Exercise,
    axes: tuple[tuple[str, ...], ...] = (),
    gradients: bool = False,
) -> None:
    """Raise `Failure` if the module differs from the reference in one of the case's calling variants.

    With `gradients`, they are compared wherever they are recorded, unless the module keeps statistics, which can
    make a gradient a difference of nearly equal numbers.

    If the reference returns the same values in training and evaluation mode, its values do not depend on the history
    either; it is then called in fewer variants than the submission. Otherwise it may keep statistics: both are called
    in the same variants, and never in training mode.
    """
    calls = [(variant, number % 2) for number, variant in enumerate(case.calling_variants)]
    everything = [*case.tensors()]
    if theirs.run_probe(probe.is_same_in_training, case.inputs_in_variants[0], called=method):
        ours.training = theirs.training = False
        their_calls = [(_of_the_same_values(variant), number) for variant, number in calls]
        asked = [*dict.fromkeys(their_calls)]
        learning = [everything for _ in asked] if gradients else []
        their_values = call_in_calling_variants(asked, case, method, theirs, learning)
        answers = dict(zip(asked, their_values, strict=True))
        expected = [answers[call] for call in their_calls]
    else:
        gradients = False
        calls = [(_for_statistics(variant), number) for variant, number in calls]
        expected = [*call_in_calling_variants(calls, case, method, theirs)]
    learning = [_learning(variant, everything, exercise) for variant, _ in calls] if gradients else []
    observed = call_in_calling_variants(calls, case, method, ours, learning)
    for number, ((variant, _), answer) in enumerate(zip(calls, expected, strict=True)):
        try:
            value = next(observed)
        except SubjectRaisedError as error:
            raise Failure(
                FailureKind.CALLING_VARIANT, calling_variant=variant, expected="an output", observed=str(error)
            ) from None
        compared = Compared(action=method or exercise.interface.called(), calling_variant=variant, axes=axes)
        returned, observed_gradients = _with_gradients(value) if gradients else (value, None)
        right, expected_gradients = _with_gradients(answer) if gradients else (answer, None)
        tolerances = _gradient_tolerances(variant, exercise)
        try:
            compare(returned, right, compared, _tolerance(variant, exercise))
            if expected_gradients is not None and tolerances is not None:
                if observed_gradients is None:
                    raise unexpected_reply()
                names = learning[number]
                expected_gradients = _of_what_learns(expected_gradients, names, variant)
                with _naming_what_learns(names, everything):
                    compare_gradients(observed_gradients, expected_gradients, *tolerances)
        except Failure as failure:
            failure.set_calling_variant(variant)
            failure.returned = returned
            raise


@contextmanager
def _naming_what_learns(names: list[str], everything: list[str]) -> Iterator[None]:
    """Say in each `Failure` of the block which inputs get gradients, unless all do."""
    try:
        yield
    except Failure as failure:
        if names != everything:
            which = f"on {' and '.join(names)} alone" if names else "on no input"
            failure.finding = structs.replace(failure.finding, action=f"with requires_grad {which}")
        raise


def _with_gradients(reply: Any) -> tuple[Any, Gradients | None]:
    """Return the value and the gradients in a reply; None if the variant records none."""
    match reply:
        case (value, None):
            return value, None
        case (value, dict() as gradients) if all(isinstance(each, torch.Tensor | None) for each in gradients.values()):
            return value, gradients
    raise unexpected_reply()


def _learning(variant: CallingVariant, names: list[str], exercise: Exercise) -> list[str]:
    """Return the names of the inputs that get gradients in a call: often all, else one, or only parameters do."""
    choices = [names] * max(1, len(names)) + [[name] for name in names]
    if not exercise.interface.function:
        choices.append([])
    return choices[zlib.crc32(repr(variant.changes()).encode()) % len(choices)]


def _of_what_learns(gradients: Gradients, inputs: list[str], variant: CallingVariant) -> Gradients:
    """Return the gradients of the parameters and of these inputs. The parameters of a copy are frozen."""
    named = {f"{probe.INPUT}{name}" for name in inputs}
    is_frozen = variant.history is History.COPIED
    return {
        name: each
        for name, each in gradients.items()
        if name in named or not (is_frozen or name.startswith(probe.INPUT))
    }


def _tolerance(variant: CallingVariant, exercise: Exercise) -> Tolerance:
    """Return the tolerance of values: that of float64 if the exercise requires its precision."""
    is_precise = variant.dtype is Dtype.FLOAT64 and exercise.is_precise
    if variant.scale is Scale.LARGE:
        return LARGE_INPUTS_FLOAT64 if is_precise else LARGE_INPUTS
    return FLOAT64 if is_precise else FLOAT32


def _gradient_tolerances(variant: CallingVariant, exercise: Exercise) -> tuple[Tolerance, float] | None:
    """Return the tolerance of gradients, and the size below which a gradient is zero; None to compare none.

    In float32 the gradients of large inputs are mostly rounding errors.
    """
    if variant.gradients is not outcome.Gradients.RECORDED:
        return None
    is_precise = variant.dtype is Dtype.FLOAT64 and exercise.is_precise
    if variant.scale is Scale.LARGE:
        return (GRADIENT_OF_LARGE_INPUTS, NEGLIGIBLE) if is_precise else None
    return (FLOAT64_GRADIENT, NEGLIGIBLE) if is_precise else (GRADIENT_OF_ANY_SIZE, NEGLIGIBLE_OF_ANY_SIZE)


def _for_statistics(variant: CallingVariant) -> CallingVariant:
    """Return the variant for a module that keeps statistics. It never has equal samples, because their statistics would
    magnify rounding errors.
    """
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
