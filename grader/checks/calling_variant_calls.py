"""Call a module in calling variants, and compare the returned values with the reference's."""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import torch
from msgspec import Struct, structs

from grader.checks.case import Case
from grader.checks.compare import compare, compare_gradients, require_finite_gradients
from grader.checks.failure import Compared, Failure
from grader.checks.outcome import FailureKind
from grader.checks.pictures import Gradients
from grader.checks.proxies import ModuleProxy
from grader.checks.session import SubjectRaisedError, unexpected_reply
from grader.checks.tolerances import (
    FLOAT32,
    FLOAT64,
    FLOAT64_GRADIENT,
    GRADIENT_OF_ANY_SIZE,
    GRADIENT_OF_LARGE_INPUTS,
    LARGE_INPUTS,
    LARGE_INPUTS_FLOAT64,
    NEGLIGIBLE,
    NEGLIGIBLE_OF_ANY_SIZE,
    Tolerance,
)
from grader.sandbox.calling_variants import (
    LARGE_SCALE,
    CallingVariant,
    Dtype,
    History,
    MemoryLayout,
    Mode,
    Scale,
    VariantCall,
    to_plain,
)
from grader.sandbox.probes import calling_variants as probe
from grader.spec.exercise import Exercise


def call_in_calling_variants(
    calls: Sequence[VariantCall], case: Case, method: str, module: ModuleProxy
) -> Iterator[Any]:
    """Yield what the module returns in each call: a value or, if gradients are compared, a value with gradients.

    Raise `SubjectRaisedError` when the module raises in the next call.
    """
    asked = [*calls]
    while asked:
        values = module.run_probe(
            probe.call_in_variants,
            case.inputs_in_variants[0],
            others=case.inputs_in_variants[1],
            optional=case.optional_inputs,
            calls=to_plain(asked),
            called=method,
            sample_axes=case.samples_axes,
            shared=case.shared,
            scales=dict.fromkeys(case.scaled, LARGE_SCALE),
            other_arguments=case.other_arguments,
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
    axes: tuple[tuple[str, ...], ...] = (),
    gradients: bool = False,
) -> None:
    """Raise `Failure` if the module differs from the reference in one of the case's calling variants.

    With `gradients`, gradients are compared wherever they are recorded. They are not compared if the module keeps
    statistics, because its gradients may be differences of nearly equal numbers.

    If the reference returns the same values in training and evaluation mode, its values do not depend on the history
    either; it is then called in fewer variants than the submission. Otherwise it may keep statistics: both are called
    in the same variants, and never in training mode.
    """
    variants, everything = case.size_case.calling_variants, tuple(case.tensors())
    keeps_statistics = not theirs.run_probe(probe.is_same_in_training, case.inputs_in_variants[0], called=method)
    if keeps_statistics:
        variants = tuple(map(_for_statistics, variants))
        gradients = False
    else:
        ours.training = theirs.training = False
    calls = [
        VariantCall(
            variant=variant,
            has_other_inputs=bool(number % 2),
            compares_gradients=gradients,
            inputs_with_gradients=_inputs_with_gradients(variant, everything, exercise) if gradients else (),
        )
        for number, variant in enumerate(variants)
    ]
    if keeps_statistics:
        their_calls, answers = calls, list(call_in_calling_variants(calls, case, method, theirs))
    else:
        their_calls = [_of_the_same_values(call, everything) for call in calls]
        asked = [*dict.fromkeys(their_calls)]
        known = dict(zip(asked, call_in_calling_variants(asked, case, method, theirs), strict=True))
        answers = [known[each] for each in their_calls]
    returned = call_in_calling_variants(calls, case, method, ours)
    is_precise = exercise.is_precise
    for call, their_call, answer in zip(calls, their_calls, answers, strict=True):
        try:
            value = next(returned)
        except SubjectRaisedError as error:
            raise Failure(
                FailureKind.CALLING_VARIANT, calling_variant=call.variant, expected="an output", observed=str(error)
            ) from None
        compared = Compared(action=method or exercise.interface.called(), axes=axes)
        observed, expected = _Answer.of(value, call), _Answer.of(answer, their_call)
        try:
            tolerance = _tolerance(call.variant, is_precise=is_precise and not keeps_statistics)
            compare(observed.value, expected.value, compared, tolerance)
            if call.records_gradients():
                with _describing_backward_pass(call, everything):
                    _compare_gradients(observed, expected, call, is_precise=is_precise)
        except Failure as failure:
            failure.change(calling_variant=call.variant)
            raise


class _Answer(Struct, frozen=True, kw_only=True):
    """What a module returned in a call, with gradients if they are compared."""

    value: Any
    parameters: Gradients = {}
    inputs: Gradients = {}

    @classmethod
    def of(cls, reply: Any, call: VariantCall) -> Self:
        if not call.compares_gradients:
            return cls(value=reply)
        match reply:
            case (value, None, None) if not call.records_gradients():
                return cls(value=value)
            case (value, dict() as parameters, dict() as inputs) if _are_gradients(parameters, inputs):
                return cls(value=value, parameters=parameters, inputs=inputs)
        raise unexpected_reply()


def _are_gradients(*several: dict[Any, Any]) -> bool:
    return all(isinstance(each, torch.Tensor | None) for gradients in several for each in gradients.values())


def _compare_gradients(observed: _Answer, expected: _Answer, call: VariantCall, *, is_precise: bool) -> None:
    """Raise `Failure` unless the gradients are right: of the parameters unless they are frozen, and of the inputs that
    get one. Gradients that are mostly rounding errors are only required to be finite.
    """
    of_parameters = {} if call.variant.history is History.COPIED else expected.parameters
    of_inputs = {name: each for name, each in expected.inputs.items() if name in call.inputs_with_gradients}
    tolerances = _gradient_tolerances(call.variant, is_precise=is_precise)
    if tolerances is None:
        require_finite_gradients(observed.parameters, of_parameters)
        require_finite_gradients(observed.inputs, of_inputs, of_inputs=True)
    else:
        compare_gradients(observed.parameters, of_parameters, *tolerances)
        compare_gradients(observed.inputs, of_inputs, *tolerances, of_inputs=True)


@contextmanager
def _describing_backward_pass(call: VariantCall, everything: tuple[str, ...]) -> Iterator[None]:
    """Say in each `Failure` of the block by which factor the loss was scaled, and which inputs get gradients unless all
    do.
    """
    try:
        yield
    except Failure as failure:
        factor = f"{probe.LOSS_SCALES[call.has_other_inputs]:.6g}"
        names = call.inputs_with_gradients
        which = f" and requires_grad on {' and '.join(names)} alone" if names else " and requires_grad on no input"
        failure.change(action=f"with a loss {factor} times as large{which if names != everything else ''}")
        raise


def _inputs_with_gradients(variant: CallingVariant, names: tuple[str, ...], exercise: Exercise) -> tuple[str, ...]:
    """Return the names of the inputs that get gradients in a call: usually all of them, otherwise one or none."""
    choices: list[tuple[str, ...]] = [names] * max(1, len(names)) + [(name,) for name in names]
    if not exercise.interface.function:
        choices.append(())
    return choices[zlib.crc32(" ".join(variant.changes()).encode()) % len(choices)]


def _tolerance(variant: CallingVariant, *, is_precise: bool) -> Tolerance:
    """Return the tolerance of values: that of float64 if the exercise requires its precision.

    A module that keeps statistics needs more tolerance, because earlier calls in float32 may have rounded them.
    """
    is_precise = is_precise and variant.dtype is Dtype.FLOAT64
    if variant.scale is Scale.LARGE:
        return LARGE_INPUTS_FLOAT64 if is_precise else LARGE_INPUTS
    return FLOAT64 if is_precise else FLOAT32


def _gradient_tolerances(variant: CallingVariant, *, is_precise: bool) -> tuple[Tolerance, float] | None:
    """Return the tolerance of gradients, and the size below which a gradient is zero; None to compare none."""
    is_precise = is_precise and variant.dtype is Dtype.FLOAT64
    if variant.scale is Scale.LARGE:
        return (GRADIENT_OF_LARGE_INPUTS, NEGLIGIBLE) if is_precise else None
    return (FLOAT64_GRADIENT, NEGLIGIBLE) if is_precise else (GRADIENT_OF_ANY_SIZE, NEGLIGIBLE_OF_ANY_SIZE)


def _for_statistics(variant: CallingVariant) -> CallingVariant:
    """Return the variant for a module that keeps statistics. It never has equal samples, because their statistics would
    magnify rounding errors.
    """
    layout = MemoryLayout.CONTIGUOUS if variant.layout is MemoryLayout.EXPANDED else variant.layout
    return structs.replace(variant, mode=Mode.UNCHANGED, layout=layout)


def _of_the_same_values(call: VariantCall, everything: tuple[str, ...]) -> VariantCall:
    """Return the cheapest call in which a module without state returns the same values, with all gradients."""
    variant = call.variant
    is_expanded = variant.layout is MemoryLayout.EXPANDED
    plain = CallingVariant(
        dtype=variant.dtype,
        layout=MemoryLayout.EXPANDED if is_expanded else MemoryLayout.CONTIGUOUS,
        sharing=variant.sharing,
        scale=variant.scale,
    )
    return structs.replace(call, variant=plain, inputs_with_gradients=everything if call.compares_gradients else ())
