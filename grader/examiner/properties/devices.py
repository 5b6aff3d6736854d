"""The property of moving: a module that went to another device finds there everything that it computes with."""

from typing import TYPE_CHECKING, ClassVar

from grader.examiner.compare import Failure, describe, excerpt
from grader.examiner.context import require_declared
from grader.examiner.property import Property

if TYPE_CHECKING:
    from grader.examiner.case import Case
    from grader.examiner.context import Context

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

def there(value):
    return value.to("meta") if isinstance(value, torch.Tensor) else value

class Watch(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords, name, devices = keywords or {{}}, getattr(function, "__name__", ""), set()
        note = lambda part: devices.add(part.device.type) if isinstance(part, torch.Tensor) and part.dim() else None
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
is as strict as other devices are. Everything is computed here too, on zeros: torch raises less there than it does on
other devices, and some of it has no kernels there until its import is complete, which takes half a second.
"""

MOVED = "module and inputs moved to another device"
STAYED_BEHIND = (
    "stayed behind: ",
    "is not on the expected device",
    "Expected all tensors to be on the same device",
    "out of meta tensor",
)


class MovesBetweenDevices(Property, frozen=True, tag="moves_between_devices"):
    """Moved to another device, the module works there: nothing that it computes with stays behind."""

    needs_module: ClassVar[bool] = True
    is_slow: ClassVar[bool] = True  # torch completes its import
    needs_reference: ClassVar[bool] = False
    shows_values: ClassVar[bool] = False

    def try_case(self, context: "Context", case: "Case") -> None:
        probe = ELSEWHERE.format(entry=context.exercise.interface.entry())
        module = context.subject.build(case.arguments, probe=probe, entry="Variation", at_once=False)
        module.training = self.training
        answer = module.call("elsewhere", **case.inputs)
        if not isinstance(answer, tuple) or len(answer) != len(("here", "devices")):
            raise Failure("device", f"{MOVED}: expected the outputs there, saw {describe(answer)}")
        value, devices = answer
        require_declared(value, context.exercise, self, case.sizes)
        if devices == ["meta"] * len(context.exercise.interface.outputs):
            return
        if not isinstance(devices, str):
            raise Failure("device", f"{MOVED}: expected the outputs there, saw them elsewhere")
        if any(failure_kind in devices for failure_kind in STAYED_BEHIND):
            what = f"{MOVED}: expected everything it computes with to be there"
            raise Failure("device", f"{what}, saw {excerpt(devices)}")
