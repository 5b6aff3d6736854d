"""Properties of what is computed: values, shapes, gradients, weights."""

from grader.course import checks as c
from grader.examiner.case import Case, make_case, size_of
from grader.examiner.compare import (
    FLOAT64,
    Failure,
    compare,
    compare_gradient,
    describe,
    number,
    place,
    place_of_largest,
    require_finite,
    require_gradient,
    require_shape,
    require_tensor,
)
from grader.examiner.context import Context, nth_output, require_inputs_kept, try_rung
from grader.examiner.session import SubjectRaisedError

LEARNS = 1e-4
"""A reference gradient above this is one that a submission must have too."""

SUM_TOLERANCE = 1e-4


@try_rung.register
def _(check: c.MatchesReference, context: Context, case: Case) -> None:
    ours, theirs = context.pair(check, case)
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
    require_inputs_kept(ours, case)


@try_rung.register
def _(check: c.ReturnsShapes, context: Context, case: Case) -> None:
    value = context.ours(check, case).call(check.method, **case.inputs)
    shapes = [[size_of(size, case.sizes) for size in shape] for shape in context.exercise.interface.outputs]
    values = value if isinstance(value, tuple | list) else [value]
    if len(values) != len(shapes):
        raise Failure("type", f"forward: expected {len(shapes)} values, saw {describe(value)}")
    for index, (seen, shape) in enumerate(zip(values, shapes, strict=True)):
        what = f"output {index}" if len(shapes) > 1 else "output"
        require_tensor(seen, what)
        require_shape(seen, shape, what)


@try_rung.register
def _(check: c.EveryParameterLearns, context: Context, case: Case) -> None:
    ours, theirs = context.pair(check, case)
    expected = theirs.differentiate(None, check.method, **case.inputs)
    seen = ours.differentiate(expected.cotangents, check.method, **case.inputs).parameters
    for name in check.parameters or expected.parameters:
        gradient = expected.parameters[name]
        if gradient is not None and float(gradient.abs().max()) > LEARNS:
            require_gradient(seen.get(name), name)


@try_rung.register
def _(check: c.RowsSumToOne, context: Context, case: Case) -> None:
    module = context.ours(check, case)
    value = module.call(check.method, **case.inputs)
    if check.attribute:
        weights, what = module.attribute(check.attribute), f"the attribute {check.attribute}"
        require_tensor(weights, what)
    else:
        weights, what = nth_output(value, check.output), "the attention weights"
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
def _(check: c.KeepsDtype, context: Context, case: Case) -> None:
    ours, theirs = context.pair(check, case, dtype="float64")
    inputs = {**case.inputs, **{name: tensor.double() for name, tensor in case.tensors().items()}}
    compare(ours.call(check.method, **inputs), theirs.call(check.method, **inputs), "in float64, output", FLOAT64)


@try_rung.register
def _(check: c.KeepsParameters, context: Context, case: Case) -> None:
    modules = context.ours(check, case), context.reference.build(case.arguments)
    ours, theirs = ({name: tuple(each.shape) for name, each in module.weights().items()} for module in modules)
    missing = ", ".join(f"{name} {shape}" for name, shape in theirs.items() if ours.get(name) != shape)
    extra = ", ".join(f"{name} {shape}" for name, shape in ours.items() if theirs.get(name) != shape)
    if missing or extra:
        raise Failure("parameters", f"parameters: expected {missing or 'no more'}, saw {extra or 'none of these'}")


@try_rung.register
def _(check: c.AttributeMatchesReference, context: Context, case: Case) -> None:
    ours, theirs = context.pair(check, case)
    ours.call(check.method, **case.inputs)
    theirs.call(check.method, **case.inputs)
    compare(ours.attribute(check.name), theirs.attribute(check.name), f"after a call, the attribute {check.name}")


@try_rung.register
def _(check: c.WeightsTransfer, context: Context, case: Case) -> None:
    ours, theirs = context.pair(check, case)
    sizes = {**case.sizes, **check.to}
    other = make_case(context.exercise, check, sizes)
    our_other, their_other = context.ours(check, other), context.reference.build(other.arguments)
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


def _output_name(check: c.Check) -> str:
    return f"with the same weights and inputs, {check.method or 'forward'}: output"
