"""Properties of what a module keeps: its state dict, what a call leaves to the next, what moves between devices."""

from typing import Any

import torch
from msgspec import structs

from grader.checks.case import Case, make_case
from grader.checks.compare import Failure, compare, describe, require_tensor
from grader.checks.context import Context, runs
from grader.checks.outputs import require_declared
from grader.checks.proxies import ModuleProxy
from grader.checks.session import SubjectRaisedError
from grader.sandbox.text import as_arguments, excerpt
from grader.spec.exercise import Exercise
from grader.spec.properties import CallsInTurn, KeepsStateDict, MovesBetweenDevices

STATES = """
class Variation(submission.{entry}):
    def saved(self):
        return {{str(name): value.detach().clone() for name, value in self.state_dict().items()}}

    def after_loading(self, **state):
        self.load_state_dict(state)
        return self.saved()
"""
"""A probe: what is saved, before and after something else was loaded."""


@runs(KeepsStateDict)
def try_keeps_state_dict(check: KeepsStateDict, context: Context, case: Case) -> None:
    probe = STATES.format(entry=context.exercise.interface.entry())
    theirs, other = (context.reference.build(case.arguments, probe=probe, entry="Variation") for _ in range(2))
    ours = context.subject.build(case.arguments, like=theirs, probe=probe, entry="Variation", at_once=False)
    seen = ours.call("saved")
    if not isinstance(seen, dict):
        raise Failure("state", f"the state dict: expected tensors by name, saw {describe(seen)}")
    expected = theirs.call("saved")
    own = {name: value for name, value in seen.items() if not _is_free(check, name, theirs)}
    _compare_keys(own, {name: value for name, value in expected.items() if not _is_free(check, name, theirs)})
    loaded = {name: value for name, value in other.call("saved").items() if name in own}
    _load(ours, {**seen, **loaded}, loaded)


def _is_free(check: KeepsStateDict, name: str, theirs: ModuleProxy) -> bool:
    return check.free_buffers and name not in theirs.weights()


def _compare_keys(seen: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, value in seen.items():
        require_tensor(value, f"the state dict's {name}")
    ours, theirs = ({name: tuple(value.shape) for name, value in each.items()} for each in (seen, expected))
    missing = ", ".join(f"{name} {shape}" for name, shape in theirs.items() if ours.get(name) != shape)
    extra = ", ".join(f"{name} {shape}" for name, shape in ours.items() if theirs.get(name) != shape)
    if missing or extra:
        told = f"expected {missing or 'no more'}, saw {excerpt(extra) or 'none of these'}"
        raise Failure("state", f"the state dict, which old checkpoints must fit: {told}")


def _load(ours: ModuleProxy, state: dict[str, Any], loaded: dict[str, Any]) -> None:
    try:
        after = ours.call("after_loading", **state)
    except SubjectRaisedError as error:
        raise Failure("state", f"loading an old checkpoint: expected it to fit, saw {error}") from None
    for name, value in loaded.items():
        if not (isinstance(after, dict) and name in after and torch.equal(after[name], value)):
            raise Failure("state", f"after loading an old checkpoint, {name}: expected its values, saw others")


@runs(CallsInTurn)
def try_calls_in_turn(check: CallsInTurn, context: Context, case: Case) -> None:
    ours, theirs = context.pair(check, case)
    for index in range(len(check.calls)):
        if check.evaluates_last and index == len(check.calls) - 1:
            ours.training = theirs.training = False
        inputs = _inputs_of_call(check, context.exercise, case, index)
        seen, expected = ours.call(check.method, **inputs), theirs.call(check.method, **inputs)
        between = f", then {check.after_each}(), then with " if check.after_each else " then with "
        turns = between.join(as_arguments(call) for call in check.calls[: index + 1])
        compare(seen, expected, f"one module, called with {turns}: the last call's output")
        for module in (ours, theirs) if check.after_each else ():
            module.call(check.after_each)


def inputs_of_calls(check: CallsInTurn, exercise: Exercise, case: Case) -> list[dict[str, Any]]:
    """What the module is given in each call."""
    return [_inputs_of_call(check, exercise, case, index) for index in range(len(check.calls))]


def _inputs_of_call(check: CallsInTurn, exercise: Exercise, case: Case, index: int) -> dict[str, Any]:
    later = structs.replace(check, inputs={**check.inputs, **check.then}) if index else check
    return make_case(exercise, later, {**case.sizes, **check.calls[index]}).inputs


ELSEWHERE = """
LEAVES_TORCH_INCOMPLETE = True
MAY_MIX = {{"to", "copy_", "type_as", "expand_as", "view_as", "reshape_as", "__getitem__", "__setitem__", "index_put_"}}

def each_in(value, change):
    if isinstance(value, (list, tuple)):
        parts = [each_in(part, change) for part in value]
        return tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, dict):
        return {{name: each_in(part, change) for name, part in value.items()}}
    return change(value)

def here(value):
    if isinstance(value, torch.Tensor):
        return torch.zeros(value.shape, dtype=value.dtype)
    return "cpu" if isinstance(value, (str, torch.device)) and str(value) == "meta" else value

def stays(value):
    return isinstance(value, torch.Tensor) and value.dim() > 0 and value.device.type == "cpu"

def has_elements(value):
    is_shape_alone = type(value).__module__ == "torch.nn.attention.bias"
    return isinstance(value, torch.Tensor) and value.dim() > 0 and not is_shape_alone

def there(value):
    return value.to("meta") if isinstance(value, torch.Tensor) else value

class Watch(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords, name, devices = keywords or {{}}, getattr(function, "__name__", ""), set()
        note = lambda part: devices.add(part.device.type) if has_elements(part) else None
        each_in([arguments, keywords], note)
        if len(devices) > 1 and name not in MAY_MIX:
            raise RuntimeError(f"{{function}}: Expected all tensors to be on the same device")
        if name == "__get__":
            return function(*arguments)
        value = function(*each_in(arguments, here), **each_in(keywords, here))
        try:
            return function(*arguments, **keywords)
        except NotImplementedError as error:
            is_missing = any(words in str(error) for words in ("Meta kernel", "not implemented"))
            if not is_missing or not isinstance(value, (torch.Tensor, list, tuple)):
                raise
            return each_in(value, there)

class Variation(submission.{entry}):
    def elsewhere(self, **inputs):
        own = [(part, name) for part in self.modules() for name, value in vars(part).items() if stays(value)]
        plain = self(**inputs)
        try:
            self.to("meta")
            moved = {{name: value.to("meta") if hasattr(value, "to") else value for name, value in inputs.items()}}
            with Watch():
                values = self(**moved)
            return plain, [value.device.type for value in (values if isinstance(values, (tuple, list)) else [values])]
        except Exception as error:
            left = ", ".join(name for part, name in own if stays(vars(part).get(name)))
            behind = f"stayed behind: {{left}}; " if left else ""
            return plain, f"{{behind}}{{type(error).__name__}}: {{error}}"[:1000]
"""
"""A probe: torch's device of tensors without elements, the only other device that every machine has.

Where the module asks what a tensor holds, it cannot go on there: what it raises then is no fault of its own. The watch
is as strict as other devices are, but for torch's own causal masks, which are made where they are used. Everything is
computed here too, on zeros: torch raises less there than it does on other devices, and some of it has no kernels there
until its import is complete, which takes half a second.
"""

MOVED = "module and inputs moved to another device"
STAYED_BEHIND = (
    "stayed behind: ",
    "is not on the expected device",
    "Expected all tensors to be on the same device",
    "out of meta tensor",
)


@runs(MovesBetweenDevices)
def try_moves_between_devices(check: MovesBetweenDevices, context: Context, case: Case) -> None:
    probe = ELSEWHERE.format(entry=context.exercise.interface.entry())
    module = context.subject.build(case.arguments, probe=probe, entry="Variation", at_once=False)
    module.training = check.training
    answer = module.call("elsewhere", **case.inputs)
    if not isinstance(answer, tuple) or len(answer) != len(("here", "devices")):
        raise Failure("device", f"{MOVED}: expected the outputs there, saw {describe(answer)}")
    value, devices = answer
    require_declared(value, context.exercise, check, case.sizes)
    if devices == ["meta"] * len(context.exercise.interface.outputs):
        return
    if not isinstance(devices, str):
        raise Failure("device", f"{MOVED}: expected the outputs there, saw them elsewhere")
    if any(marker in devices for marker in STAYED_BEHIND):
        what = f"{MOVED}: expected everything it computes with to be there"
        raise Failure("device", f"{what}, saw {excerpt(devices)}")
