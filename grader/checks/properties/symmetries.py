"""Properties of invariance: to the order and split of samples, padding, a shift of positions, a dtype."""

from typing import Any

import torch
from msgspec import structs

from grader.checks.case import Case
from grader.checks.compare import require_close, require_shape
from grader.checks.context import Context, runs
from grader.checks.failure import Compared, extreme_numbers
from grader.checks.outcome import FailureKind
from grader.checks.outputs import declared_output, nth_output
from grader.checks.tolerances import FLOAT32, FLOAT64, LARGE_INPUTS, Tolerance
from grader.sandbox.probes.calling_variants import finer
from grader.spec.fields import shape_of
from grader.spec.properties import HALVES, SAMPLES, PaddingChangesNothing, SamplesInAnyOrder, UnchangedBy

HALF_ROUNDING = 0.15
"""Tolerance in half precision, as a share of the largest output. bfloat16 has about two digits."""

PRECISE = {
    "float64": FLOAT64,
    "bfloat16": Tolerance(relative=2e-2, absolute=1e-7),
    "float16": Tolerance(relative=4e-3, absolute=1e-7),
}
"""Tolerances for half precision that is computed in a wider dtype: a few units in the last place."""


@runs(SamplesInAnyOrder)
def try_samples_in_any_order(check: SamplesInAnyOrder, context: Context, case: Case) -> None:
    samples = next(case.inputs[name].size(axis) for name, axis in case.samples_axes.items())
    if samples == 1:
        return
    axis = context.exercise.interface.outputs[check.output].index(SAMPLES)
    module = context.build_subject(check, case)
    whole = declared_output(context.exercise, check, case, module(**case.inputs), check.output)

    def output_of(chosen: torch.Tensor) -> torch.Tensor:
        inputs = {name: value.index_select(case.samples_axes[name], chosen) for name, value in _batched(case).items()}
        observed = nth_output(module(**{**case.inputs, **inputs}), check.output)
        require_shape(observed, [len(chosen) if at == axis else size for at, size in enumerate(whole.shape)], "output")
        return observed

    places = torch.arange(samples)
    turned = output_of(places.flip(0)).flip(axis)
    compared = Compared(action=f"{samples} samples in reversed order, reversed again")
    require_close(turned, whole, compared, FLOAT32, FailureKind.ORDER)
    parts = torch.cat([output_of(part) for part in places.tensor_split(2)], dim=axis)
    compared = Compared(action=f"{samples} samples in two parts, put together again")
    require_close(parts, whole, compared, FLOAT32, FailureKind.PARTS)


@runs(UnchangedBy)
def try_unchanged_by(check: UnchangedBy, context: Context, case: Case) -> None:
    theirs = context.reference.build(case.arguments, dtype=check.dtype)
    one, other = (
        context.subject.build(case.arguments, dtype=check.dtype, like=theirs, at_once=False) for _ in range(2)
    )
    one.grad = other.grad = case.size_case.grad
    inputs = {**case.inputs, **scale_inputs(case, check.loudness, check.dtype)}
    before = declared_output(context.exercise, check, case, one(**inputs), check.output)
    after = nth_output(other(**{**inputs, **check.instead}), check.output)
    require_shape(after, list(before.shape), "output")
    instead = ", ".join(f"{name}={value!r}" for name, value in check.instead.items())
    dtype = f", in {check.dtype}" if check.dtype else ""
    compared = Compared(action=f"with {instead}, which should change nothing{dtype}")
    tolerance = structs.replace(FLOAT32, of_largest=HALF_ROUNDING if check.dtype in HALVES else 0.0)
    with extreme_numbers(are_used=bool(check.dtype) or check.loudness > 1):
        require_close(after.float(), before.float(), compared, tolerance, FailureKind.SHIFT)


@runs(PaddingChangesNothing)
def try_padding_changes_nothing(check: PaddingChangesNothing, context: Context, case: Case) -> None:
    kept = (case.sizes[check.tokens] + 1) // 2
    if kept == case.sizes[check.tokens]:
        return
    specs = check.all_inputs(context.exercise.interface)
    module = context.build_subject(check, case)
    padded = declared_output(context.exercise, check, case, module(**case.inputs), check.output)
    short = {name: _cut(check, value, shape_of(specs[name]), kept) for name, value in case.inputs.items()}
    padded_part = _cut(check, padded, context.exercise.interface.outputs[check.output], kept)
    alone = nth_output(module(**short), check.output)
    require_shape(alone, list(padded_part.shape), "without the padding: output")
    action = f"{kept} {check.tokens}, with {case.sizes[check.tokens] - kept} padding {check.tokens} after them"
    compared = Compared(action=action, item=f"output at the first {kept} {check.tokens}")
    require_close(padded_part, alone, compared, FLOAT32, FailureKind.PADDING)


def _cut(check: PaddingChangesNothing, value: Any, shape: list[Any], kept: int) -> Any:
    for axis, size in enumerate(shape):
        value = value.narrow(axis, 0, kept) if size == check.tokens else value
    return value


def scale_inputs(case: Case, factor: float, dtype: str) -> dict[str, torch.Tensor]:
    """Return the floating-point inputs multiplied by `factor`, in `dtype` if it is given."""
    times = {name: case.enlarged(value, factor) for name, value in case.tensors().items()}
    if dtype == "float64":
        return {name: finer(value) for name, value in times.items()}
    return {name: value.to(getattr(torch, dtype)) for name, value in times.items()} if dtype else times


def _batched(case: Case) -> dict[str, torch.Tensor]:
    return {name: case.inputs[name] for name in case.samples_axes}


def roughly(dtype: str, factor: float) -> Tolerance:
    """Return the usual tolerance for a dtype and a scale of inputs."""
    if dtype in HALVES:
        return structs.replace(FLOAT32, of_largest=HALF_ROUNDING)
    return LARGE_INPUTS if factor > 1 else FLOAT32
