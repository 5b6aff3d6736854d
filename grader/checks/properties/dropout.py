"""Properties of dropout: when it acts, and on which tensors."""

from contextlib import suppress
from typing import Any

import torch

from grader.checks.case import Case
from grader.checks.compare import compare, number, require_finite, require_form
from grader.checks.context import Context, runs
from grader.checks.failure import Compared, Comparison, Failure, Relation
from grader.checks.outcome import FailureKind
from grader.checks.outputs import nth_output, require_declared
from grader.checks.properties.symmetries import scale_inputs
from grader.checks.proxies import ModuleProxy
from grader.checks.session import SubjectError
from grader.checks.tolerances import FLOAT32
from grader.sandbox.probes import dropout
from grader.sandbox.values import flatten
from grader.spec.properties import DropoutActsOnWeights, DropoutOnlyInTraining, KeepsDtype

SOME_DRAWS, MAX_DRAWS = 6, 40
"""Numbers of draws. At dropout 0.5, a single weight is kept in all of `MAX_DRAWS` with probability 2 ** -40."""

DRAWS, FEW_DRAWS = 32, 4
"""Use fewer draws for a single weight: more would not tighten the bound."""

CHANCE = 0.3125
"""The dropout probability of a check. At 0.5, keeping and dropping would look the same. It has many decimals, because a
submission must not round it.
"""

OTHER_CHANCE = 0.9
"""The dropout probability of another module of the class."""

DEVIATIONS = 8.0
"""Observed shares may differ from expected ones by this many standard deviations."""

LEAST_WEIGHT = 1e-3
"""Rounding hides whether a weight smaller than this was dropped."""

STEEPNESS = 1e-2
"""Relative tolerance between a measured slope and the gradient: more than rounding, less than a wrong gradient."""

MAX_DIRECTIONS, ENOUGH_DIRECTIONS = 6, 2
"""How many directions to try, and how many must agree.

A step across the kink of a ReLU does not follow the gradient, so one direction proves nothing; a wrong gradient is
wrong along almost every direction. A right module is refused if at least 5 of 6 directions cross a kink. Each does
with a probability below 1e-2, because the step is short, so an error happens in fewer than 1e-9 of all runs.
"""


@runs(DropoutOnlyInTraining)
def try_dropout_only_in_training(check: DropoutOnlyInTraining, context: Context, case: Case) -> None:
    module = context.build_subject(check, case.built_with(check.probability, 0.5))
    values = module.call_each([case.inputs] * 2)
    for value in values:
        require_declared(value, context.exercise, check, case.sizes)
    first, second = map(flatten, values)
    for one in first:
        require_finite(one, "output")
    if any(not torch.equal(one, other) for one, other in zip(first, second, strict=True)):
        raise Failure(
            FailureKind.DROPOUT,
            action="in eval mode, the same input twice",
            expected="the same output",
            observed="two different ones",
            comparison=Comparison(relation=Relation.CLOSE, observed=second[0], expected=first[0]),
        )
    module.call_each([case.inputs], grad=False)  # must not switch dropout off for good
    module.training = True
    if all(_returns_equal_outputs(module, case, times) for times in (2, SOME_DRAWS, MAX_DRAWS)):
        raise Failure(
            FailureKind.NO_DROPOUT,
            action=f"calls in eval mode, one of them under no_grad, then one input {MAX_DRAWS} times in training mode "
            "with dropout 0.5",
            expected="different outputs",
            observed="the same one every time",
            comparison=Comparison(relation=Relation.DIFFERENT),
        )
    _compare_all_dropped(check, context, case)
    if context.is_first(check, case) and _keeps_float64(context):
        with suppress(SubjectError):  # another check reports a module that fails in float64
            _compare_all_dropped(check, context, case, "float64")


def _compare_all_dropped(check: DropoutOnlyInTraining, context: Context, case: Case, dtype: str = "") -> None:
    """Compare the output with the reference's where everything is dropped."""
    ours, theirs = context.build_both(check, case.built_with(check.probability, 1.0), dtype=dtype)
    ours.training = theirs.training = True
    inputs = {**case.inputs, **scale_inputs(case, 1.0, dtype)}
    compared = Compared(action=f"in training mode with dropout 1{dtype and f', in {dtype}'}")
    compare(nth_output(ours(**inputs), 0), nth_output(theirs(**inputs), 0), compared)


@runs(DropoutActsOnWeights)
def try_dropout_acts_on_weights(check: DropoutActsOnWeights, context: Context, case: Case) -> None:
    case = case if check.probability in check.defaults else case.built_with(check.probability, CHANCE)
    theirs = context.reference.build(case.arguments)
    ours = context.subject.build(case.arguments, like=theirs, at_once=False)
    ours.training = theirs.training = True
    response = theirs.run_probe(dropout.response, case.inputs)
    if isinstance(response, str):
        raise Failure(FailureKind.NO_DROPOUT, message=f"the reference, in training mode: {response}")
    action = f"in training mode with dropout {number(response[2])}"
    _compare_with_response(ours, response, check, case, action)
    if context.is_first(check, case):
        context.subject.build({**case.arguments, check.probability: OTHER_CHANCE})
        in_inference = context.exercise.interface.trains_after_inference
        ours.run_probe(
            dropout.use_without_dropout, case.inputs, sample_axes=case.samples_axes, in_inference=in_inference
        )
        after = f"{action}, after calls in eval mode, and after another module was built with dropout {OTHER_CHANCE}"
        _compare_with_response(ours, response, check, case, after)
    if context.is_last(check, case):
        ours.training = True
        cotangents = [torch.ones_like(each) for each in flatten(response[0]) if each.is_floating_point()]
        ours.differentiate(cotangents, **case.inputs)  # raises if dropout in place overwrote what autograd needs
        if not check.inputs and _keeps_float64(context):
            _require_slopes(context, case, action)


def _compare_with_response(
    ours: ModuleProxy, response: tuple[Any, ...], check: DropoutActsOnWeights, case: Case, action: str
) -> None:
    """Raise `Failure` unless each weight is either dropped or scaled up, with the right probability."""
    value, weights, chance, base, parts = response
    ours.training = True
    times = DRAWS if weights.numel() > 1 else FEW_DRAWS
    draws = ours.call_each([case.inputs] * times, grad=False)
    for draw in draws:
        require_form(draw, value, Compared(action=action))
    outputs = torch.stack([flatten(draw)[0] for draw in draws])
    require_finite(outputs, Compared(action=action))
    observed, base, parts = outputs.flatten(1).double(), base.double(), parts.double()
    scaled = weights.flatten().double() / (1 - chance)
    estimated = (observed - base) @ torch.linalg.pinv(parts)
    is_kept = (estimated - scaled).abs() < estimated.abs()
    predicted = base + (is_kept * scaled) @ parts
    if not torch.allclose(observed, predicted, FLOAT32.relative, FLOAT32.absolute):
        ours.training = False
        (without,) = ours.call_each([case.inputs], grad=False)
        compare(flatten(without)[0], flatten(value)[0], Compared(action="in eval mode"))
        raise Failure(
            FailureKind.DROPOUT_ELSEWHERE,
            action=action,
            expected=f"each {check.called} either dropped or scaled up",
            observed="an output that fits neither",
        )
    _require_chances(is_kept.view(times, *weights.shape), weights.abs() > LEAST_WEIGHT, chance, action, check.called)


def _keeps_float64(context: Context) -> bool:
    """Return whether the exercise requires that modules work in float64."""
    return any(isinstance(check, KeepsDtype) and check.dtype == "float64" for check in context.exercise.checks)


def _require_slopes(context: Context, case: Case, action: str) -> None:
    """Raise `Failure` unless gradients flow through exactly the elements that dropout kept."""
    counts = {"most": MAX_DIRECTIONS, "enough": ENOUGH_DIRECTIONS, "steepness": STEEPNESS}
    ours = context.subject.build(case.arguments, at_once=False)
    ours.training = True
    try:
        rises, slopes = ours.run_probe(dropout.slopes, case.inputs, **counts)
    except SubjectError:
        return  # another check reports a module that fails in float64
    agree = (rises - slopes).abs() <= STEEPNESS * rises.abs()
    if int(agree.sum()) < ENOUGH_DIRECTIONS:
        rise, slope = (number(float(each[~agree][0])) for each in (rises, slopes))
        raise Failure(
            FailureKind.DROPOUT_GRADIENT,
            action=action,
            expected=f"a gradient with the slope {rise}, which was measured along one direction",
            observed=f"a gradient with the slope {slope}",
        )


def _require_chances(is_kept: torch.Tensor, counts: torch.Tensor, chance: float, action: str, called: str) -> None:
    """Raise `Failure` unless the right share of weights is dropped, independently of neighbours along every axis.

    `is_kept` and `counts` are (calls, *weights). `counts` marks the weights that are large enough to judge.
    """
    counts = counts.expand(is_kept.shape)
    count = int(counts.sum())
    dropped = 1 - _share(is_kept, counts)
    if abs(dropped - chance) > _tolerated_difference(chance, count):
        raise Failure(
            FailureKind.DROPOUT_CHANCE,
            action=action,
            expected=f"about {chance:.0%} of the {called}s dropped",
            observed=f"{dropped:.0%}",
        )
    equal = chance**2 + (1 - chance) ** 2
    for axis in range(is_kept.dim()):
        size = is_kept.size(axis)
        (one, other), (both, too) = (
            (each.narrow(axis, 0, size - 1), each.narrow(axis, 1, size - 1)) for each in (is_kept, counts)
        )
        pairs = both & too
        observed = _share(one == other, pairs)
        if bool(pairs.any()) and abs(observed - equal) > _tolerated_difference(equal, int(pairs.sum())):
            among = f"neighbours along axis {axis - 1}" if axis else f"{called}s in two consecutive calls"
            raise Failure(
                FailureKind.DROPOUT_SHARED,
                action=action,
                expected=f"{called}s dropped independently: {equal:.0%} of {among} are both dropped or both kept",
                observed=f"{observed:.0%}",
            )


def _share(values: torch.Tensor, among: torch.Tensor) -> float:
    return float((values & among).sum()) / max(1, int(among.sum()))


def _tolerated_difference(chance: float, count: int) -> float:
    """Return how far the observed share of `count` values may be from its probability."""
    return float(DEVIATIONS * (chance * (1 - chance) / max(1, count)) ** 0.5)


def _returns_equal_outputs(module: ModuleProxy, case: Case, times: int) -> bool:
    """Return whether this many calls return equal outputs."""
    first, *others = (nth_output(value, 0) for value in module.call_each([case.inputs] * times, grad=False))
    return all(torch.equal(first, other) for other in others)
