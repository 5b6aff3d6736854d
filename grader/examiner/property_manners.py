"""Properties of how a module behaves among others: refusals, prints, inputs, attributes."""

import torch

from grader.examiner.bench import Bench, try_rung
from grader.examiner.case import Case, make_case, size_of
from grader.examiner.compare import describe
from grader.examiner.finding import Failure
from grader.examiner.session import SubjectRaisedError
from grader.exercise import checks as c


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
    _require_accepted(check, bench)


@try_rung.register
def _(check: c.LeavesInputsAlone, bench: Bench, case: Case) -> None:
    module = bench.ours(check, case)
    module.call(check.method, **case.inputs)
    left = module.inputs_after()
    for name, before in case.inputs.items():
        if isinstance(before, torch.Tensor) and (name not in left or not torch.equal(left[name], before)):
            raise Failure("input-changed", f"the input {name}: expected it unchanged by the call, saw other values")


@try_rung.register
def _(check: c.PrintsNothing, bench: Bench, case: Case) -> None:
    module = bench.ours(check, case)
    _require_silence(module.printed() if check.building else "", "building it")
    module.printed()
    module.call(check.method, **case.inputs)
    _require_silence(module.printed(), "a call")


@try_rung.register
def _(check: c.Prints, bench: Bench, case: Case) -> None:
    module = bench.ours(check, case)
    module.printed()
    module.call(check.method, **case.inputs)
    if not module.printed().strip():
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
def _(check: c.MovesBetweenDevices, bench: Bench, case: Case) -> None:
    probe = ELSEWHERE.format(entry=bench.exercise.interface.class_name)
    module = bench.subject.build(case.arguments, probe=probe, entry="Variation")
    module.training = check.training
    module(**case.inputs)
    try:
        devices = module.call("elsewhere", **case.inputs)
    except SubjectRaisedError:
        return  # torch cannot do there what the module does
    if devices == ["meta"] * len(bench.exercise.interface.outputs):
        return
    if not isinstance(devices, str):
        raise Failure("device", f"{MOVED}: expected the outputs there, saw them elsewhere")
    if any(sign in devices for sign in STAYED_BEHIND):
        raise Failure("device", f"{MOVED}: expected everything it computes with to be there, saw {devices[:160]}")


ELSEWHERE = """
import sys, types

class Variation(submission.{entry}):
    def elsewhere(self, **inputs):
        stub = types.ModuleType("torch._dynamo")
        stub.disable = lambda function, *_, **__: function
        with_stub = sys.modules.setdefault(stub.__name__, stub) is stub
        torch._dynamo = sys.modules[stub.__name__]
        try:
            self.to("meta")
            there = {{name: value.to("meta") if hasattr(value, "to") else value for name, value in inputs.items()}}
            values = self(**there)
            return [value.device.type for value in (values if isinstance(values, (tuple, list)) else [values])]
        except Exception as error:
            if "Meta kernel" in str(error):
                raise  # the worker lets torch's import be completed, and asks again
            return f"{{type(error).__name__}}: {{error}}"
        finally:
            if with_stub:
                del sys.modules[stub.__name__], torch._dynamo
"""
"""A probe: torch's device of tensors without elements, the only other device that every machine has.

Where the module asks what a tensor holds, it cannot go on there: what it raises then is no fault of its own. The stub
spares the seconds that importing torch's compiler takes, which calculates nothing here.
"""

MOVED = "module and inputs moved to another device"
STAYED_BEHIND = ("is not on the expected device", "Expected all tensors to be on the same device", "out of meta tensor")


def _require_silence(printed: str, what: str) -> None:
    if printed:
        first = printed.strip().splitlines()[0][:60] if printed.strip() else printed[:20]
        raise Failure(
            "prints", f"{what}: expected nothing on stdout, saw {len(printed.splitlines())} lines, the first {first!r}"
        )


def _require_accepted(check: c.Raises, bench: Bench) -> None:
    """Raise `Failure` where the interface's own sizes are refused too: whoever refuses everything checks nothing."""
    usual = make_case(bench.exercise, c.Check(), bench.exercise.ladder[-1])
    try:
        module = bench.subject.build(usual.arguments)
        if check.at == "call" and not check.method:
            module.call("", **usual.inputs)
    except SubjectRaisedError as error:
        if set(check.errors) & set(error.raised.bases):
            sizes = ", ".join(f"{name}={size}" for name, size in usual.sizes.items())
            raise Failure("refuses-all", f"with {sizes}, which fit: expected no {error.raised.type}, saw one") from None
