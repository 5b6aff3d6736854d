"""Properties of influence: which tokens and samples may change which outputs."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from msgspec import Struct

from grader.checks.case import Case
from grader.checks.compare import number, require_dtype, require_finite, require_shape
from grader.checks.context import Context, runs
from grader.checks.failure import Compared, Comparison, Failure, Relation, extreme_numbers, singular
from grader.checks.outcome import FailureKind, Map, Picture, PictureKind
from grader.checks.outputs import declared_output, nth_output
from grader.checks.proxies import ModuleProxy
from grader.checks.session import SubjectError
from grader.checks.tolerances import UNCHANGED
from grader.spec.fields import MadeInput, Shape, shape_of
from grader.spec.properties import (
    FutureDoesNotLeak,
    MaskHides,
    SamplesDoNotMix,
)

LARGE_DRAWS = 4
"""How often large inputs are drawn."""

MAX_PICTURED = 16
MAX_DRAWING = 0.5
"""The most tokens or samples to change one by one for a picture, and the most seconds for it."""


class Units(Struct, frozen=True, kw_only=True):
    """Words for one place along a check's axis, by the interface: "sample", "token", "query"."""

    changed: str
    """One place of the changed input."""
    output: str
    """One place of the output."""


@runs(FutureDoesNotLeak)
def try_future_does_not_leak(check: FutureDoesNotLeak, context: Context, case: Case) -> None:
    tokens = case.inputs[check.input].size(check.axis)
    if tokens == 1:
        return
    module, changed, units = context.build_subject(check, case), sorted({1, tokens - 1}), _units(context, check)
    changes = [case.inputs_with_change(check.input, check.axis, token) for token in changed]
    before, *others = _outputs(context, check, case, module, [case.inputs, *changes])
    for token, after in zip(changed, others, strict=True):
        draw = partial(
            _draw_movement, check, module, case, before, {token: after}, lambda place, changed: place < changed, units
        )
        kept, action = list(range(token)), f"changing {units.changed} {token}"
        _require_unchanged(before, after, check.axis, kept, action, FailureKind.LEAK, units, draw)
        _require_moved(before, after, check.axis, token, action, units)
    last, action = tokens - 1, f"changing {units.changed} {tokens - 1}"
    _require_unchanged_loudly(context, check, case, last, list(range(last)), action, units)


@runs(MaskHides)
def try_mask_hides(check: MaskHides, context: Context, case: Case) -> None:
    spec = check.inputs[check.mask]
    assert isinstance(spec, MadeInput)
    pairs = case.inputs[check.mask].movedim(spec.axes, (-2, -1))
    hidden = [key for key in range(pairs.size(-1)) if not bool(pairs[..., key].any())]
    if not hidden:
        return
    module, units = context.build_subject(check, case), _units(context, check)
    change = case.inputs_with_change(check.input, check.axis, hidden[0])
    before, after = _outputs(context, check, case, module, [case.inputs, change])
    is_self_attention = len(case.tensors()) == 1
    others = [token for token in range(before.size(check.axis)) if not (is_self_attention and token == hidden[0])]

    def is_hidden(place: int, changed: int) -> bool:
        return changed in hidden and not (is_self_attention and place == changed)

    action = f"changing {units.changed} {hidden[0]}, which the mask hides,"
    draw = partial(_draw_movement, check, module, case, before, {hidden[0]: after}, is_hidden, units)
    _require_unchanged(before, after, check.axis, others, action, FailureKind.LEAK, units, draw)
    _require_unchanged_loudly(context, check, case, hidden[0], others, action, units)


@runs(SamplesDoNotMix)
def try_samples_do_not_mix(check: SamplesDoNotMix, context: Context, case: Case) -> None:
    samples = case.inputs[check.input].size(check.axis)
    if samples == 1:
        return
    module, units, last = context.build_subject(check, case), _units(context, check), samples - 1
    change = case.inputs_with_change(check.input, check.axis, last)
    calls = [case.inputs, change]
    if check.input in case.scaled:  # other inputs have a range
        enlarged = change[check.input].clone()
        sample = enlarged.select(check.axis, last)
        sample.copy_(case.enlarged(sample, check.loudness))
        calls.append({**case.inputs, check.input: enlarged})
    before, after, *after_enlarged = _outputs(context, check, case, module, calls)
    others = list(range(last))
    draw = partial(
        _draw_movement, check, module, case, before, {last: after}, lambda place, changed: place != changed, units
    )
    action = f"changing {units.changed} {last}"
    _require_unchanged(before, after, check.axis, others, action, FailureKind.MIXING, units, draw)
    action = f"replacing {units.changed} {last} by numbers {case.enlargement(check.loudness)}"
    for output in after_enlarged:
        require_shape(output, list(before.shape), "output")
        kept, after = (each.narrow(check.axis, 0, last) for each in (before, output))  # the last may be anything
        _require_unchanged(kept, after, check.axis, others, action, FailureKind.MIXING, units)


def _units(context: Context, check: FutureDoesNotLeak | MaskHides | SamplesDoNotMix) -> Units:
    """Return the words for one place along the check's axis."""
    interface = context.exercise.interface
    changed = _unit(shape_of(check.all_inputs(interface)[check.input]), check.axis, "input")
    outputs = [] if check.method else interface.outputs
    shape = outputs[check.output] if check.output < len(outputs) else []
    return Units(changed=changed, output=_unit(shape, check.axis, changed))


def _unit(shape: Shape, axis: int, otherwise: str) -> str:
    """Return the word for one place along an axis of a shape, or another word if the axis has no name."""
    name = shape[axis] if -len(shape) <= axis < len(shape) else otherwise
    return "sample" if name == "batch" else singular(name) if isinstance(name, str) else otherwise


def _outputs(
    context: Context,
    check: FutureDoesNotLeak | MaskHides | SamplesDoNotMix,
    case: Case,
    module: ModuleProxy,
    inputs: list[dict[str, Any]],
) -> list[torch.Tensor]:
    """Call the module with each of the inputs and return the checked output of each call."""
    return [declared_output(context.exercise, check, case, value, check.output) for value in module.call_each(inputs)]


def _draw_movement(
    check: FutureDoesNotLeak | MaskHides | SamplesDoNotMix,
    module: ModuleProxy,
    case: Case,
    before: torch.Tensor,
    known: dict[int, torch.Tensor],
    is_forbidden: Callable[[int, int], bool],
    units: Units,
) -> Picture | None:
    """Make a picture of how far each output moves with each token or sample; None if that takes too long.

    `known` contains the outputs after changes that were tried already, so that the picture agrees with the finding.
    """
    count, end = case.inputs[check.input].size(check.axis), time.monotonic() + MAX_DRAWING
    if max(count, before.size(check.axis)) > MAX_PICTURED:
        return None
    columns, still = [], _largest_rounding(before)
    for changed in range(count):
        try:
            after = known.get(changed)
            if after is None:
                after = nth_output(module(**case.inputs_with_change(check.input, check.axis, changed)), check.output)
        except (SubjectError, Failure):
            return None
        if after.shape != before.shape or time.monotonic() > end:
            return None
        columns.append(
            (after - before).abs().movedim(check.axis, 0).reshape(before.size(check.axis), -1).amax(1).tolist()
        )
    marked = [
        (place, changed)
        for changed, column in enumerate(columns)
        for place, moved in enumerate(column)
        if moved > still and is_forbidden(place, changed)
    ]
    cells = [*map(list, zip(*columns, strict=True))]
    maps = [Map(title="how far each output moved", cells=cells, marked=marked)]
    return Picture(
        kind=PictureKind.MOVEMENT, maps=maps, rows=f"output at {units.output}", columns=f"changed {units.changed}"
    )


def _largest_rounding(before: torch.Tensor) -> float:
    """Return the largest change of an output that rounding alone explains."""
    return UNCHANGED.absolute * max(1.0, float(before.abs().max()))


def _require_unchanged(
    before: torch.Tensor,
    after: torch.Tensor,
    axis: int,
    kept: list[int],
    action: str,
    kind: FailureKind,
    units: Units,
    draw: Callable[[], Picture | None] = lambda: None,
) -> None:
    """Raise `Failure` if a token or sample in `kept` moved, and name the worst one. `draw` makes the picture."""
    require_shape(after, list(before.shape), "output")
    if before.dim() <= axis or before.size(axis) <= max(kept, default=-1):
        raise Failure(
            FailureKind.SHAPE,
            item="output",
            expected=f"an axis {axis} of at least {max(kept) + 1} places",
            observed=f"shape {tuple(before.shape)}",
        )
    require_finite(before, "output")
    require_finite(after, Compared(action=action))
    moved = {index: float((after - before).select(axis, index).abs().max()) for index in kept}
    worst = max(moved, key=lambda index: moved[index], default=None)
    if worst is not None and moved[worst] > _largest_rounding(before):
        raise Failure(
            kind,
            action=action,
            item="output",
            place=f"{units.output} {worst}",
            expected="no change",
            observed=number(moved[worst]),
            picture=draw(),
            comparison=Comparison(
                relation=Relation.UNCHANGED,
                observed=after,
                expected=before,
                absolute=_largest_rounding(before),
                axis=axis,
                places=kept,
                name=units.output,
                changed=units.changed,
            ),
        )


def _require_moved(before: torch.Tensor, after: torch.Tensor, axis: int, token: int, action: str, units: Units) -> None:
    """Raise `Failure` if no output at or after the changed token moves: an output that never moves cannot leak.

    Other checks compare which outputs move: in local attention a token reaches only its neighbours.
    """
    moved = (after - before).narrow(axis, token, before.size(axis) - token).abs()
    if not bool((moved > UNCHANGED.absolute).any()):
        raise Failure(
            FailureKind.DEAD,
            action=action,
            item="outputs",
            place=f"{units.output} {token}",
            expected="a change",
            observed="no change",
            comparison=Comparison(
                relation=Relation.CHANGED,
                observed=after,
                expected=before,
                absolute=UNCHANGED.absolute,
                axis=axis,
                places=list(range(token, before.size(axis))),
                name=units.output,
                changed=units.changed,
            ),
        )


def _require_unchanged_loudly(
    context: Context,
    check: FutureDoesNotLeak | MaskHides,
    case: Case,
    token: int,
    kept: list[int],
    action: str,
    units: Units,
) -> None:
    """Raise `Failure` if a token has an influence when inputs are large. Runs only at the last size case.

    In a right module both calls round equally. Masking with -10000 hides nothing if the remaining scores are lower,
    which happens in half of the rows with a single key. Usually scores reach 1e5.
    """
    if not context.is_last(check, case):
        return
    module, gaussian = context.build_subject(check, case), {name: case.inputs[name] for name in case.scaled}
    together = dict.fromkeys(gaussian, check.loudness)
    # a module may normalize another input first
    alone = {**dict.fromkeys(gaussian, 1.0), check.input: check.loudness**2}
    pairs = []
    for factors in [together] * LARGE_DRAWS + [alone] * (LARGE_DRAWS if len(gaussian) > 1 else 0):
        large_inputs = {name: case.enlarged(torch.randn_like(each), factors[name]) for name, each in gaussian.items()}
        inputs = {**case.inputs, **large_inputs}
        changed = inputs[check.input].clone()
        part = changed.select(check.axis, token).normal_()
        part.copy_(case.enlarged(part, factors[check.input]))
        pairs += [inputs, {**inputs, check.input: changed}]
    outputs = _outputs(context, check, case, module, pairs)
    for index, (before, after) in enumerate(zip(outputs[::2], outputs[1::2], strict=True)):
        require_dtype(before, case.inputs[check.input].dtype, "output")  # or float16 cannot represent the numbers
        large, factor = ("inputs", check.loudness) if index < LARGE_DRAWS else (check.input, check.loudness**2)
        large_action = f"with {large} {case.enlargement(factor)}, {action}"
        with extreme_numbers():
            _require_unchanged(before, after, check.axis, kept, large_action, FailureKind.LEAK, units)
