"""Properties of side effects and structure: prints, inputs, attributes, layers."""

import torch

from grader.checks.case import Case
from grader.checks.compare import describe
from grader.checks.context import Context, runs
from grader.checks.failure import Failure
from grader.checks.outcome import FailureKind
from grader.checks.proxies import ModuleProxy
from grader.checks.session import SubjectRaisedError
from grader.sandbox.probes import layers
from grader.sandbox.text import as_arguments
from grader.spec.fields import Literal
from grader.spec.properties import QUOTIENT, AttributeEquals, HasLayer, LeavesInputsAlone, Prints, PrintsNothing


@runs(LeavesInputsAlone)
def try_leaves_inputs_alone(check: LeavesInputsAlone, context: Context, case: Case) -> None:
    module = context.build_subject(check, case)
    module.call(check.method, **case.inputs)
    require_inputs_kept(module, case)


def require_inputs_kept(module: ModuleProxy, case: Case) -> None:
    """Raise `Failure` if the last call changed its inputs."""
    left = module.inputs_after()
    for name, before in case.inputs.items():
        if isinstance(before, torch.Tensor) and (name not in left or not torch.equal(left[name], before)):
            raise Failure(
                FailureKind.INPUT_CHANGED,
                item=f"the input {name}",
                expected="no change by the call",
                observed="other values",
            )


@runs(PrintsNothing)
def try_prints_nothing(check: PrintsNothing, context: Context, case: Case) -> None:
    module = context.build_subject(check, case)
    _require_silence(module.printed() if check.building else "", "building it")
    module.printed()
    module.call(check.method, **case.inputs)
    _require_silence(module.printed(), "a call")
    if check.method:
        return
    module.call_each([case.inputs], grad=False)
    _require_silence(module.printed(), "a call under no_grad")
    module.training = True
    module.call(check.method, **case.inputs)
    _require_silence(module.printed(), "a call in training mode")
    if check.after:
        module.call("", **{**case.inputs, **check.after})
        module.printed()
        module.call("", **case.inputs)
        _require_silence(module.printed(), f"a call after one with {as_arguments(check.after)}")


@runs(Prints)
def try_prints(check: Prints, context: Context, case: Case) -> None:
    module = context.build_subject(check, case)
    module.printed()
    inverted = {name: not value if isinstance(value, bool) else value for name, value in case.arguments.items()}
    context.subject.build(inverted)  # a quiet module beside a verbose one
    module.printed()
    for repetition, training in (("", check.training), (" again", check.training), (" in training mode", True)):
        module.training = training
        module.call(check.method, **case.inputs)
        if is_visible(module.printed()):
            continue
        built, call = (
            as_arguments({name: value for name, value in given.items() if isinstance(value, bool)})
            for given in (check.constructor, check.inputs)
        )
        call_text = f"a module built with {built}, called" if built else "a call"
        action = f"{call_text} with {call}" if call or not built else f"{call_text} without printing"
        raise Failure(
            FailureKind.SILENT, action=f"{action}{repetition}", expected="it to print", observed="nothing on stdout"
        )


@runs(AttributeEquals)
def try_attribute_equals(check: AttributeEquals, context: Context, case: Case) -> None:
    expected = _expected(check, case.sizes)
    code = f"getattr(module, {check.name!r}, None) == {expected!r}"
    try:
        observed = context.build_subject(check, case).attribute(check.name)
    except SubjectRaisedError as error:
        if error.raised.type != "AttributeError":
            raise
        raise Failure(
            FailureKind.ATTRIBUTE,
            item=f"the attribute {check.name}",
            expected=str(expected),
            observed="no such attribute",
            code=code,
        ) from None
    is_right_type = type(observed) is type(expected) or (check.any_number and isinstance(observed, int | float))
    if not is_right_type or observed != expected:
        raise Failure(
            FailureKind.ATTRIBUTE,
            item=f"the attribute {check.name}",
            expected=str(expected),
            observed=describe(observed),
            code=code,
        )


def _expected(check: AttributeEquals, sizes: dict[str, int]) -> Literal:
    if not isinstance(check.equals, str):
        return check.equals
    size, *divisors = check.equals.split(QUOTIENT)
    return sizes[size] // sizes[divisors[0]] if divisors else sizes.get(size, size)


@runs(HasLayer)
def try_has_layer(check: HasLayer, context: Context, case: Case) -> None:
    module = context.subject.build(case.arguments, at_once=False)
    wanted = f"an nn.{check.layer}" if check.layer else "a layer"
    wanted_type = f"torch.nn.{check.layer or 'Module'}"
    code = f"isinstance(dict(module.named_modules()).get({check.name!r}), {wanted_type})"
    try:
        observed = module.run_probe(layers.layer_type, {}, name=check.name, layer=check.layer)
    except SubjectRaisedError as error:
        if error.raised.type != "AttributeError":
            raise
        raise Failure(
            FailureKind.LAYER,
            item=f"the attribute {check.name}",
            expected=wanted,
            observed="no such attribute",
            code=code,
        ) from None
    if observed != "":
        raise Failure(
            FailureKind.LAYER,
            item=f"the attribute {check.name}",
            expected=wanted,
            observed=describe(observed),
            code=code,
        )


def _require_silence(printed: str, action: str) -> None:
    if printed:
        first = printed.strip().splitlines()[0][:60] if printed.strip() else printed[:20]
        raise Failure(
            FailureKind.PRINTS,
            action=action,
            expected="nothing on stdout",
            observed=f"{len(printed.splitlines())} lines, the first {first!r}",
        )


def is_visible(text: str) -> bool:
    """Return whether a text contains anything but spaces, zero bytes and control characters."""
    return any(each.isprintable() and not each.isspace() for each in text)
