"""Properties of results: values, shapes, gradients, weights."""

import math
from typing import Any

import torch
from msgspec import structs

from grader.checks import diagnoses, pictures
from grader.checks.adapters import parts_of
from grader.checks.calling_variant_calls import compare_in_calling_variants
from grader.checks.calling_variant_choice import fitting
from grader.checks.case import Case, make_case
from grader.checks.compare import (
    compare,
    compare_gradients,
    numbers,
    require_finite,
    require_form,
    require_gradients,
    require_tensor,
    shape_differences,
)
from grader.checks.context import Context, runs
from grader.checks.failure import Compared, Comparison, Failure, Relation, extreme_numbers, singular
from grader.checks.outcome import FailureKind
from grader.checks.outputs import axes_of_checked, declared_output, require_declared
from grader.checks.properties.side_effects import require_inputs_kept
from grader.checks.properties.symmetries import PRECISE, roughly, scale_inputs
from grader.checks.proxies import ModuleProxy
from grader.checks.session import SubjectRaisedError
from grader.checks.size_cases import SizeCase
from grader.checks.tolerances import FLOAT32
from grader.sandbox.calling_variants import CallingVariant, Dtype, GradientMode, History, Mode
from grader.sandbox.probes import training
from grader.spec.fields import MadeInput
from grader.spec.properties import (
    AttributeMatchesReference,
    EveryParameterLearns,
    InitialWeights,
    KeepsDtype,
    KeepsParameters,
    MatchesReference,
    ReturnsShapes,
    RowsSumToOne,
    WeightsTransfer,
)

LEARNS = 1e-4
"""If a reference gradient exceeds this, the submission must have a gradient too."""

IN_FLOAT64 = (
    CallingVariant(dtype=Dtype.FLOAT64, history=History.CONVERTED),
    CallingVariant(dtype=Dtype.FLOAT64, mode=Mode.TRAINING, gradients=GradientMode.NO_GRAD),
)
"""Calling variants in which a module must also compute in float64; tensors made in float32 must not be reused."""

SUM_TOLERANCE = 1e-4

SUM_OF_DROPPED = 0.1
"""Sums that are off by more are reported as `SUM`, others as `SUM_NEARLY`."""


@runs(MatchesReference)
def try_matches_reference(check: MatchesReference, context: Context, case: Case) -> None:
    if check.variation:
        _compare_plainly(check, context, *context.build_both(check, case, variation=check.variation), case)
        return
    ours, theirs = context.build_both(check, case)
    if case.size_case.is_plain:
        unmasked = _unmasked(check, context, theirs, case)
        try:
            _compare_plainly(check, context, ours, theirs, case)
        except Failure as failure:
            if failure.finding.kind is FailureKind.VALUES:
                tensor, within = failure.wrong and failure.wrong.tensor, (FLOAT32.relative, FLOAT32.absolute)
                diagnosis = diagnoses.diagnose_by_mask(tensor, unmasked, *within)
                failure.change(diagnosis=diagnosis or failure.finding.diagnosis)
            raise
    if case.size_case.calling_variants and context.subject.session.observed.answers_in_calling_variants:
        axes = axes_of_checked(context.exercise, check)
        compare_in_calling_variants(
            case, check.method, ours, theirs, context.exercise, axes=axes, gradients=check.gradients
        )


def _unmasked(check: MatchesReference, context: Context, theirs: ModuleProxy, case: Case) -> Any:
    """Return the reference's output with masks that hide nothing. Ask in every run: answers are cached in order."""
    specs = check.all_inputs(context.exercise.interface)
    masks = [name for name, spec in specs.items() if isinstance(spec, MadeInput) and spec.is_mask()]
    if not masks:
        return None
    nothing_hidden = {name: torch.ones_like(case.inputs[name]) for name in masks}
    mode, theirs.training = theirs.training, False  # in training a call may change statistics that later calls use
    value = theirs.call(check.method, **{**case.inputs, **nothing_hidden})
    theirs.training = mode
    return value


def _compare_plainly(
    check: MatchesReference, context: Context, ours: ModuleProxy, theirs: ModuleProxy, case: Case
) -> None:
    interface = context.exercise.interface
    own_calls = check.called or "calls of this check's own"
    called = own_calls if check.variation else check.method or interface.called()
    zeros = [
        f", with {singular(spec.zeros)} 1 of {name} all zeros"
        for name, spec in check.inputs.items()
        if isinstance(spec, MadeInput) and spec.zeros
    ]
    compared = Compared(
        action=f"with the same {interface.kind.shared} as the reference, {called}{''.join(zeros)}",
        axes=() if check.variation else axes_of_checked(context.exercise, check),
    )
    if not (check.gradients and case.size_case.compares_gradients):
        expected = theirs.call(check.method, **case.inputs)
        parts = [] if check.variation else parts_of(interface, expected)
        compare(ours.call(check.method, **case.inputs), expected, compared, parts=parts)
        return
    expected = theirs.differentiate(None, check.method, **case.inputs)
    observed = ours.differentiate(expected.cotangents, check.method, **case.inputs)
    parts = [] if check.variation else parts_of(interface, expected.value)
    compare(observed.value, expected.value, compared, parts=parts)
    compare_gradients(observed.parameters, expected.parameters)
    compare_gradients(observed.inputs, expected.inputs, of_inputs=True)
    require_inputs_kept(ours, case)


@runs(ReturnsShapes)
def try_returns_shapes(check: ReturnsShapes, context: Context, case: Case) -> None:
    value = context.build_subject(check, case).call(check.method, **case.inputs)
    require_declared(value, context.exercise, check, case.sizes)


@runs(EveryParameterLearns)
def try_every_parameter_learns(check: EveryParameterLearns, context: Context, case: Case) -> None:
    ours, theirs = context.build_both(check, case)
    expected = theirs.differentiate(None, check.method, **case.inputs)
    if context.exercise.interface.trains_after_inference:  # tables that it makes now must not be kept for training
        ours.run_probe(training.call_in_inference_mode, case.inputs, called=check.method)
    passed = ours.differentiate(expected.cotangents, check.method, **case.inputs)
    require_form(passed.value, expected.value, f"{check.method or 'forward'}: output")
    gradients = {name: expected.parameters[name] for name in check.parameters or expected.parameters}
    learning = [name for name, each in gradients.items() if each is not None and float(each.abs().max()) > LEARNS]
    require_gradients(passed.parameters, expected.parameters, learning)


@runs(RowsSumToOne)
def try_rows_sum_to_one(check: RowsSumToOne, context: Context, case: Case) -> None:
    module = context.build_subject(check, case)
    value = module.call(check.method, **case.inputs)
    if check.attribute:
        weights, item = module.attribute(check.attribute), f"the attribute {check.attribute}"
        require_tensor(weights, item)
    else:
        weights, item = declared_output(context.exercise, check, case, value, check.output), "the attention weights"
    require_finite(weights, item)
    sums = weights.sum(check.axis)
    off = (sums - 1).abs()
    if float(off.max()) > SUM_TOLERANCE:
        worst = pictures.place_of_largest(off)
        mode = " in training mode" if check.training else ""
        raise Failure(
            FailureKind.SUM if float(off.max()) > SUM_OF_DROPPED else FailureKind.SUM_NEARLY,
            item=f"{item}{mode}",
            place=_place_of_row(check, context, worst),
            expected="each row to sum to 1",
            observed=numbers(1.0, float(sums[tuple(worst)]))[1],
            picture=pictures.lone_weights(weights, worst, check.axis),
            comparison=Comparison(
                relation=Relation.CLOSE,
                observed=sums,
                expected=torch.ones_like(sums),
                absolute=SUM_TOLERANCE,
            ),
        )


def _place_of_row(check: RowsSumToOne, context: Context, index: list[int]) -> str:
    """Return the index of a row of weights in words, with the names of the axes if an output has the weights."""
    axes = () if check.attribute else axes_of_checked(context.exercise, check)[check.output : check.output + 1]
    names = list(axes[0]) if axes else []
    if names:
        names.pop(check.axis)
    return Compared(axes=(tuple(names),)).place(index)


@runs(KeepsDtype)
def try_keeps_dtype(check: KeepsDtype, context: Context, case: Case) -> None:
    ours, theirs = context.build_both(check, case, dtype=check.dtype)
    inputs = {**case.inputs, **scale_inputs(case, check.loudness, check.dtype)}
    tolerance = PRECISE[check.dtype] if check.precise else roughly(check.dtype, check.loudness)
    times = f", inputs {case.enlargement(check.loudness)}" if check.loudness != 1 else ""
    compared = Compared(action=f"in {check.dtype}{times}", axes=axes_of_checked(context.exercise, check))
    expected = theirs.call(check.method, **inputs)
    parts = parts_of(context.exercise.interface, expected)
    with extreme_numbers(are_used=check.loudness != 1 or not check.in_float64()):
        compare(ours.call(check.method, **inputs), expected, compared, tolerance, parts)
    if check.in_float64() and check.loudness == 1 and context.exercise.interface.kind.has_calling_variants:
        ours, theirs = context.build_both(check, case)
        of_function = bool(context.exercise.interface.function)
        variants = tuple(fitting(each, of_function=of_function) for each in IN_FLOAT64)
        size_case = structs.replace(case.size_case, calling_variants=variants)
        converted = structs.replace(case, size_case=size_case, inputs_in_variants=(case.inputs, case.inputs))
        compare_in_calling_variants(converted, check.method, ours, theirs, context.exercise)


@runs(KeepsParameters)
def try_keeps_parameters(check: KeepsParameters, context: Context, case: Case) -> None:
    modules = context.build_subject(check, case), context.reference.build(case.arguments)
    ours, theirs = (module.shapes() for module in modules)
    missing, extra = shape_differences(ours, theirs)
    if missing or extra:
        raise Failure(
            FailureKind.PARAMETERS,
            expected=missing,
            observed=extra,
            deviation=_misfits(ours, theirs),
            comparison=Comparison(relation=Relation.PARAMETERS, expected=theirs),
        )


def _misfits(ours: dict[str, tuple[int, ...]], theirs: dict[str, tuple[int, ...]]) -> frozenset[str]:
    """Return a text for each parameter that does not fit, with a number if several share a shape.

    Students may choose the names of additional parameters, so shapes alone identify those.
    """
    missing = [f"no {name} {shape}" for name, shape in theirs.items() if ours.get(name) != shape]
    further = sorted(ours[name] for name in ours.keys() - theirs.keys())
    return frozenset([*missing, *(f"further {shape}, {further[:at].count(shape)}" for at, shape in enumerate(further))])


BUILDS = 16
"""New modules whose parameters are pooled, so that even a bias of a few numbers gives a spread."""

DEVIATIONS = 8
"""Standard errors that a mean or the logarithm of a variance may be off. For numbers whose tails are no heavier than a
normal distribution's, the reference itself is off by more with a probability below 1e-8 for each parameter."""


@runs(InitialWeights)
def try_initial_weights(_check: InitialWeights, context: Context, case: Case) -> None:
    theirs = [context.reference.build(case.arguments).initial_weights() for _ in range(BUILDS)]
    ours = [context.subject.build(case.arguments, keeps_weights=True).initial_weights() for _ in range(BUILDS)]
    for name in theirs[0]:
        if any(name not in each or each[name].shape != theirs[0][name].shape for each in ours):
            continue  # `keeps_parameters` reports it
        _compare_initial(name, *(torch.stack([each[name] for each in builds]).double() for builds in (ours, theirs)))


def _compare_initial(name: str, ours: torch.Tensor, theirs: torch.Tensor) -> None:
    """Compare the pooled values of a parameter, of shape (builds, *shape)."""
    if not ours.isfinite().all():
        raise _initial_failure(name, "finite numbers", "NaN or infinity")
    zeros, expected_zeros = ((each == 0).all(0).sum().item() for each in (ours, theirs))
    if not torch.equal((ours == 0).all(0), (theirs == 0).all(0)):
        raise _initial_failure(name, f"{expected_zeros} zeros", f"{zeros}, or zeros elsewhere")
    mean, expected_mean = ours.mean().item(), theirs.mean().item()
    spread, expected_spread = (each.std(correction=0).item() for each in (ours, theirs))
    standard_error = math.hypot(spread, expected_spread) / math.sqrt(theirs.numel())
    if abs(mean - expected_mean) > DEVIATIONS * standard_error + FLOAT32.absolute:
        raise _initial_failure(name, f"a mean near {expected_mean:.3g}", f"{mean:.3g}")
    constant = min(spread, expected_spread) <= FLOAT32.absolute
    if constant and max(spread, expected_spread) <= FLOAT32.absolute:
        return
    # the variance of the logarithm of a variance is 2 / (n - 1), once for each side
    allowed = DEVIATIONS * math.sqrt(4 / (theirs.numel() - 1))
    if constant or abs(2 * math.log(spread / expected_spread)) > allowed:
        raise _initial_failure(name, f"a spread near {expected_spread:.3g}", f"{spread:.3g}")


def _initial_failure(name: str, expected: str, observed: str) -> Failure:
    item = f"the initial values of {name} in {BUILDS} new modules"
    return Failure(FailureKind.PARAMETERS, item=item, expected=expected, observed=observed)


@runs(AttributeMatchesReference)
def try_attribute_matches_reference(check: AttributeMatchesReference, context: Context, case: Case) -> None:
    ours, theirs = context.build_both(check, case)
    ours.call(check.method, **case.inputs)
    theirs.call(check.method, **case.inputs)
    first = Compared(item=f"after a call, the attribute {check.name}", axes=())
    compare(ours.attribute(check.name), theirs.attribute(check.name), first)
    if check.method:
        return
    others = {**case.inputs, **{name: value.flip(-1) for name, value in case.tensors().items()}}
    ours.call_each([others], grad=False)
    theirs.call_each([others], grad=False)
    item = f"after a second call, with other inputs and under no_grad, the attribute {check.name}"
    compare(ours.attribute(check.name), theirs.attribute(check.name), Compared(item=item, axes=()))


@runs(WeightsTransfer)
def try_weights_transfer(check: WeightsTransfer, context: Context, case: Case) -> None:
    ours, theirs = context.build_both(check, case)
    other = make_case(context.exercise, check, SizeCase(sizes={**case.sizes, **check.to}))
    our_other, their_other = context.build_subject(check, other), context.reference.build(other.arguments)
    change = ", ".join(f"{name}={case.sizes[name]} into one with {name}={size}" for name, size in check.to.items())
    try:
        our_other.load_from(ours)
    except SubjectRaisedError as error:
        raise Failure(
            FailureKind.TRANSFER,
            action=f"loading the state dict of a module with {change}",
            expected="it to fit",
            observed=str(error),
        ) from None
    their_other.load_from(theirs)
    compare(our_other(**other.inputs), their_other(**other.inputs), Compared(action="after loading that state dict"))
