"""The built-in properties: for each record of a check, what is done with subject and reference at one rung."""

from functools import singledispatch
from typing import Any

import torch

from grader.examiner.case import Case, dead_row, make_case, size_of
from grader.examiner.compare import (
    FLOAT32,
    FLOAT64,
    UNCHANGED,
    compare,
    compare_gradient,
    describe,
    place_of_largest,
    require_close,
    require_finite,
    require_gradient,
    require_shape,
    require_tensor,
)
from grader.examiner.finding import Failure, number, place
from grader.examiner.session import SubjectRaisedError
from grader.examiner.standin import Maker, StandIn, flatten
from grader.exercise import Exercise
from grader.exercise import checks as c


class Bench:
    """What a property works with: the two makers and the exercise."""

    def __init__(self, subject: Maker, reference: Maker, exercise: Exercise) -> None:
        self.subject = subject
        self.reference = reference
        self.exercise = exercise

    def pair(self, check: c.Check, case: Case, dtype: str = "") -> tuple[StandIn, StandIn]:
        """Subject and reference with the same weights."""
        theirs = self.reference.build(case.arguments, dtype=dtype)
        ours = self.subject.build(case.arguments, dtype=dtype, like=theirs)
        ours.training = theirs.training = check.training
        return ours, theirs

    def ours(self, check: c.Check, case: Case) -> StandIn:
        """The subject alone, with weights of its own making."""
        module = self.subject.build(case.arguments)
        module.training = check.training
        return module


@singledispatch
def try_rung(check: Any, bench: Bench, case: Case) -> None:
    """Raise `Failure` where the property does not hold at this rung."""
    raise NotImplementedError(type(check).__name__)


@try_rung.register
def _(check: c.MatchesReference, bench: Bench, case: Case) -> None:
    ours, theirs = bench.pair(check, case)
    if not check.gradients:
        expected = theirs.call(check.method, **case.inputs)
        compare(ours.call(check.method, **case.inputs), expected, _output_name(check))
        return
    expected = theirs.differentiate(None, check.method, **case.inputs)
    seen = ours.differentiate(expected.cotangents, check.method, **case.inputs)
    compare(seen.value, expected.value, _output_name(check))
    for name, gradient in expected.parameters.items():
        compare_gradient(seen.parameters.get(name), gradient, name)
    for name, gradient in expected.inputs.items():
        compare_gradient(seen.inputs.get(name), gradient, f"the input {name}")


@try_rung.register
def _(check: c.ReturnsShapes, bench: Bench, case: Case) -> None:
    value = bench.ours(check, case).call(check.method, **case.inputs)
    shapes = [[size_of(size, case.sizes) for size in shape] for shape in bench.exercise.interface.outputs]
    values = value if isinstance(value, tuple | list) else [value]
    if len(values) != len(shapes):
        raise Failure("type", f"forward: expected {len(shapes)} values, saw {describe(value)}")
    for index, (seen, shape) in enumerate(zip(values, shapes, strict=True)):
        what = f"output {index}" if len(shapes) > 1 else "output"
        require_tensor(seen, what)
        require_shape(seen, shape, what)


@try_rung.register
def _(check: c.EveryParameterLearns, bench: Bench, case: Case) -> None:
    ours, theirs = bench.pair(check, case)
    expected = theirs.differentiate(None, check.method, **case.inputs)
    seen = ours.differentiate(expected.cotangents, check.method, **case.inputs).parameters
    for name in check.parameters or expected.parameters:
        gradient = expected.parameters[name]
        if gradient is not None and float(gradient.abs().max()) > LEARNS:
            require_gradient(seen.get(name), name)


@try_rung.register
def _(check: c.FutureDoesNotLeak, bench: Bench, case: Case) -> None:
    tokens = case.inputs[check.input].size(check.axis)
    if tokens == 1:
        return
    module = bench.ours(check, case)
    before = _output(module(**case.inputs), check.output)
    for token in sorted({1, tokens - 1}):
        after = _output(module(**_changed(case, check.input, check.axis, token)), check.output)
        _require_unchanged(before, after, check.axis, list(range(token)), f"changing token {token}", "leak")
        _require_changed(before, after, check.axis, tokens - 1, f"changing token {token}")


@try_rung.register
def _(check: c.MaskHides, bench: Bench, case: Case) -> None:
    spec = check.inputs[check.mask]
    assert isinstance(spec, c.MaskInput)
    pairs = case.inputs[check.mask].movedim(spec.axes, (-2, -1))
    hidden = [key for key in range(pairs.size(-1)) if not bool(pairs[..., key].any())]
    if not hidden:
        return
    module = bench.ours(check, case)
    before = _output(module(**case.inputs), check.output)
    after = _output(module(**_changed(case, check.input, check.axis, hidden[0])), check.output)
    is_self_attention = len(case.tensors()) == 1
    others = [token for token in range(before.size(check.axis)) if not (is_self_attention and token == hidden[0])]
    _require_unchanged(before, after, check.axis, others, f"changing token {hidden[0]}, which the mask hides,", "leak")


@try_rung.register
def _(check: c.MaskedRowsStayFinite, bench: Bench, case: Case) -> None:
    ours, theirs = bench.pair(check, case)
    expected = theirs.call(check.method, **case.inputs)
    cotangents = _cotangents(expected)
    row = dead_row(flatten(expected)[0].size(check.axis))
    cotangents[0].select(check.axis, row).zero_()
    seen = ours.differentiate(
        cotangents[:1] + [torch.zeros_like(rest) for rest in cotangents[1:]], check.method, **case.inputs
    )
    what = f"query {row} may look at no key; output"
    output = _output(seen.value, 0)
    require_shape(output, list(flatten(expected)[0].shape), what)
    require_finite(output, what)
    require_close(
        output.select(check.axis, row), flatten(expected)[0].select(check.axis, row), f"{what} at that query", UNCHANGED
    )
    for name, gradient in {**seen.parameters, **seen.inputs}.items():
        if gradient is not None:
            require_finite(gradient, f"query {row} may look at no key and the loss skips it; the gradient of {name}")


@try_rung.register
def _(check: c.RowsSumToOne, bench: Bench, case: Case) -> None:
    module = bench.ours(check, case)
    value = module.call(check.method, **case.inputs)
    if check.attribute:
        weights, what = module.attribute(check.attribute), f"the attribute {check.attribute}"
        require_tensor(weights, what)
    else:
        weights, what = _output(value, check.output), "the attention weights"
    require_finite(weights, what)
    sums = weights.sum(check.axis)
    off = (sums - 1).abs()
    if float(off.max()) > SUM_TOLERANCE:
        worst = place_of_largest(off)
        mode = " in training mode" if check.training else ""
        raise Failure(
            "sum",
            f"{what}{mode}: expected each row to sum to 1, saw {number(float(sums[tuple(worst)]))} at {place(worst)}",
        )


@try_rung.register
def _(check: c.SamplesDoNotMix, bench: Bench, case: Case) -> None:
    samples = case.inputs[check.input].size(check.axis)
    if samples == 1:
        return
    module = bench.ours(check, case)
    before = _output(module(**case.inputs), check.output)
    after = _output(module(**_changed(case, check.input, check.axis, samples - 1)), check.output)
    others = list(range(samples - 1))
    _require_unchanged(before, after, check.axis, others, f"changing sample {samples - 1}", "mixing", "sample")


@try_rung.register
def _(check: c.DropoutOnlyInTraining, bench: Bench, case: Case) -> None:
    module = bench.ours(check, case.built_with(check.probability, 0.5))
    first, again = (flatten(module(**case.inputs)) for _ in range(2))
    if any(not torch.equal(one, other) for one, other in zip(first, again, strict=True)):
        raise Failure("dropout", "in eval mode, the same input twice: expected the same output, saw another")
    module.training = True
    draw = flatten(module(**case.inputs))[0]
    if all(torch.equal(_output(module(**case.inputs), 0), draw) for _ in range(MOST_DRAWS)):
        raise Failure(
            "no-dropout",
            f"in training mode with dropout 0.5, one input {MOST_DRAWS} times: expected other draws, saw one output",
        )
    ours, theirs = bench.pair(check, case.built_with(check.probability, 1.0))
    ours.training = theirs.training = True
    what = "in training mode with dropout 1, output"
    compare(_output(ours(**case.inputs), 0), flatten(theirs(**case.inputs))[0], what)


@try_rung.register
def _(check: c.DropoutActsOnWeights, bench: Bench, case: Case) -> None:
    ours, theirs = bench.pair(check, case.built_with(check.probability, 0.5))
    ours.training = theirs.training = True
    possible = [flatten(theirs(**case.inputs))[0] for _ in range(MOST_DRAWS)]
    for _ in range(SOME_DRAWS):
        draw = _output(ours(**case.inputs), 0)
        require_shape(draw, list(possible[0].shape), "output")
        if not any(torch.allclose(draw, one, FLOAT32.relative, FLOAT32.absolute) for one in possible):
            raise Failure(
                "dropout-elsewhere",
                "in training mode with dropout 0.5 and a single key: expected that key's value twice as large or none "
                "of it, saw an output that comes of neither",
            )


@try_rung.register
def _(check: c.Raises, bench: Bench, case: Case) -> None:
    named = [name for name in check.mentions if isinstance(name, str)] or list(case.sizes)
    sizes = ", ".join(f"{name}={case.sizes[name]}" for name in named)
    try:
        module = bench.subject.build(case.arguments)
        if check.at == "call":
            module.call(check.method, **case.inputs)
    except SubjectRaisedError as error:
        raised = error.raised
    else:
        raise Failure("not-refused", f"with {sizes}: expected {' or '.join(check.errors)}, saw no exception")
    if not set(check.errors) & set(raised.bases):
        saw = f"{raised.type}: {raised.text[:120]}" if raised.text else raised.type
        raise Failure(f"refused-by-{raised.type}", f"with {sizes}: expected {' or '.join(check.errors)}, saw {saw}")
    missing = [str(size_of(name, case.sizes)) for name in check.mentions]
    missing = [digits for digits in missing if digits not in raised.text]
    if missing:
        raise Failure(
            "unclear-refusal",
            f"with {sizes}: expected a message that says {' and '.join(missing)}, saw {raised.text[:120]!r}",
        )


@try_rung.register
def _(check: c.KeepsDtype, bench: Bench, case: Case) -> None:
    ours, theirs = bench.pair(check, case, dtype="float64")
    inputs = {**case.inputs, **{name: tensor.double() for name, tensor in case.tensors().items()}}
    compare(ours.call(check.method, **inputs), theirs.call(check.method, **inputs), "in float64, output", FLOAT64)


@try_rung.register
def _(check: c.LeavesInputsAlone, bench: Bench, case: Case) -> None:
    module = bench.ours(check, case)
    module.call(check.method, **case.inputs)
    for name, after in module.inputs_after().items():
        if not torch.equal(after, case.inputs[name]):
            raise Failure("input-changed", f"the input {name}: expected it unchanged by the call, saw other values")


@try_rung.register
def _(check: c.PrintsNothing, bench: Bench, case: Case) -> None:
    printed = _printed_by_call(check, bench, case)
    if printed:
        first = printed.strip().splitlines()[0][:60] if printed.strip() else printed[:20]
        raise Failure(
            "prints", f"a call: expected nothing on stdout, saw {len(printed.splitlines())} lines, the first {first!r}"
        )


@try_rung.register
def _(check: c.Prints, bench: Bench, case: Case) -> None:
    if not _printed_by_call(check, bench, case).strip():
        asked = ", ".join(
            f"{name}={value}"
            for name, value in {**check.constructor, **check.inputs}.items()
            if isinstance(value, bool)
        )
        raise Failure("silent", f"a call with {asked}: expected it to print, saw nothing on stdout")


@try_rung.register
def _(check: c.AttributeEquals, bench: Bench, case: Case) -> None:
    expected = case.sizes.get(check.equals, check.equals) if isinstance(check.equals, str) else check.equals
    try:
        seen = bench.ours(check, case).attribute(check.name)
    except SubjectRaisedError as error:
        if error.raised.type != "AttributeError":
            raise
        raise Failure("attribute", f"the attribute {check.name}: expected {expected}, saw that there is none") from None
    if type(seen) is not type(expected) or seen != expected:
        raise Failure("attribute", f"the attribute {check.name}: expected {expected}, saw {describe(seen)}")


@try_rung.register
def _(check: c.AttributeMatchesReference, bench: Bench, case: Case) -> None:
    ours, theirs = bench.pair(check, case)
    ours.call(check.method, **case.inputs)
    theirs.call(check.method, **case.inputs)
    compare(ours.attribute(check.name), theirs.attribute(check.name), f"after a call, the attribute {check.name}")


@try_rung.register
def _(check: c.WeightsTransfer, bench: Bench, case: Case) -> None:
    ours, theirs = bench.pair(check, case)
    sizes = {**case.sizes, **check.to}
    other = make_case(bench.exercise, check, sizes)
    our_other, their_other = bench.ours(check, other), bench.reference.build(other.arguments)
    change = ", ".join(f"{name}={case.sizes[name]} into one with {name}={size}" for name, size in check.to.items())
    try:
        our_other.load_from(ours)
    except SubjectRaisedError as error:
        text = " ".join(error.raised.text.split())[:160]
        raise Failure(
            "transfer",
            f"loading the state dict of a module with {change}: expected it to fit, saw {error.raised.type}: {text}",
        ) from None
    their_other.load_from(theirs)
    compare(our_other(**other.inputs), their_other(**other.inputs), "after loading that state dict, output")


LEARNS = 1e-4
"""A reference gradient above this is one that a submission must have too."""

SUM_TOLERANCE = 1e-4
SOME_DRAWS = 10
MOST_DRAWS = 40
"""A single weight comes out alike in so many draws of dropout with a chance of 2 ** -40."""


def _cotangents(value: Any) -> list[torch.Tensor]:
    """A Gaussian weight for each element of each output."""
    return [torch.randn(tensor.shape) for tensor in flatten(value) if tensor.is_floating_point()]


def _output(value: Any, index: int) -> torch.Tensor:
    """One of the returned tensors."""
    values = value if isinstance(value, tuple | list) else [value]
    if index >= len(values):
        raise Failure("type", f"forward: expected at least {index + 1} values, saw {describe(value)}")
    seen = values[index]
    require_tensor(seen, "output")
    tensor: torch.Tensor = seen
    return tensor


def _output_name(check: c.Check) -> str:
    return f"with the same weights and inputs, {check.method or 'forward'}: output"


def _changed(case: Case, name: str, axis: int, index: int) -> dict[str, Any]:
    """The inputs with one token or sample of one input drawn anew."""
    changed = case.inputs[name].clone()
    part = changed.select(axis, index)
    part.copy_(torch.randn(part.shape))
    return {**case.inputs, name: changed}


def _require_unchanged(
    before: torch.Tensor, after: torch.Tensor, axis: int, kept: list[int], what: str, kind: str, unit: str = "token"
) -> None:
    """Raise `Failure` at the kept token or sample that moved most."""
    require_shape(after, list(before.shape), "output")
    if before.dim() <= axis or before.size(axis) <= max(kept, default=-1):
        raise Failure(
            "shape",
            f"output: expected an axis {axis} of at least {max(kept) + 1} {unit}s, saw shape {tuple(before.shape)}",
        )
    require_finite(before, "output")
    require_finite(after, f"{what}: output")
    moved = {index: float((after - before).select(axis, index).abs().max()) for index in kept}
    worst = max(moved, key=lambda index: moved[index], default=None)
    if worst is not None and moved[worst] > UNCHANGED.absolute:
        raise Failure(
            kind, f"{what} changed the output at {unit} {worst} by {number(moved[worst])}; expected no change"
        )


def _require_changed(before: torch.Tensor, after: torch.Tensor, axis: int, token: int, what: str) -> None:
    """Raise `Failure` where an output that sees the change does not answer to it: what never moves cannot leak."""
    if float((after - before).select(axis, token).abs().max()) <= UNCHANGED.absolute:
        raise Failure("dead", f"{what} left the output at token {token} as it was; expected it to change")


def _printed_by_call(check: c.Check, bench: Bench, case: Case) -> str:
    module = bench.ours(check, case)
    module.printed()
    module.call(check.method, **case.inputs)
    return module.printed()
