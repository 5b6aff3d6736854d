"""Move a module to torch's meta device, the only other device that every machine has; its tensors have no elements.

`Watch` is as strict as other devices, except for torch's own causal masks, which are made on the device where they are
used. Every function also runs on the CPU with zeros. Torch raises fewer errors on the meta device, and it lacks some
kernels there until its import is complete, which takes half a second. A function that copies elements to the CPU
returns zeros. A module that needs other elements fails there, which is not its fault.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from grader.sandbox.subject import Subject
from grader.sandbox.torch_import import left_incomplete
from grader.sandbox.values import outputs_of

MAY_MIX = frozenset(
    (
        *("to", "copy_", "type_as", "expand_as", "view_as", "reshape_as", "__getitem__", "__setitem__", "index_put_"),
        *("_has_compatible_shallow_copy_type", "__set__", "is_same_size", "is_set_to", "tensor_split"),
    )
)
"""Functions that accept tensors of different devices. Moving a module calls some of them."""

COPIES = frozenset(("cpu", "to"))
"""Functions that may copy a tensor to the CPU."""

NO_ELEMENTS = "Cannot copy out of meta tensor"
"""A part of torch's message where a function copies elements to another device."""

MAX_TEXT = 1000


def call_elsewhere(subject: Subject, inputs: dict[str, Any]) -> tuple[Any, list[str] | str, list[str]]:
    """Return the outputs on the CPU; the devices of the outputs, or the error, after a move to the meta device; and the
    names of the module's tensors that did not move.
    """
    with left_incomplete():
        return _call_elsewhere(subject.module, inputs)


def _call_elsewhere(module: torch.nn.Module, inputs: dict[str, Any]) -> tuple[Any, list[str] | str, list[str]]:
    own = [(part, name) for part in module.modules() for name, value in vars(part).items() if _stays(value)]
    plain = module(**inputs)
    try:
        module.to("meta")
        moved = {name: value.to("meta") if hasattr(value, "to") else value for name, value in inputs.items()}
        with Watch():
            values = module(**moved)
        return plain, [value.device.type for value in outputs_of(values)], []
    except Exception as error:  # noqa: BLE001 - the check reports it
        left = [name for part, name in own if _stays(vars(part).get(name))]
        return plain, f"{type(error).__name__}: {error}"[:MAX_TEXT], left


class Watch(TorchFunctionMode):
    """Raises an error for functions of tensors on different devices, and also computes each function on the CPU."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any = (), keywords: Any = None
    ) -> Any:
        keywords = keywords or {}
        devices: set[str] = set()

        def note(part: Any) -> None:
            if _has_elements(part):
                devices.add(part.device.type)

        name = getattr(function, "__name__", "")
        _map_parts([arguments, keywords], note)
        if len(devices) > 1 and name not in MAY_MIX:
            raise RuntimeError(f"{function}: Expected all tensors to be on the same device")
        if name == "__get__":
            return function(*arguments)
        value = function(*_map_parts(arguments, _here), **_map_parts(keywords, _here))
        try:
            return function(*arguments, **keywords)
        except NotImplementedError as error:
            if NO_ELEMENTS in str(error):  # also raised where a saved tensor is copied, beside the function
                return value if name in COPIES else _map_parts(value, _there)
            is_missing = any(words in str(error) for words in ("Meta kernel", "not implemented"))
            if not is_missing or not isinstance(value, torch.Tensor | list | tuple):
                raise
            return _map_parts(value, _there)


def _map_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, list | tuple):
        parts = [_map_parts(part, change) for part in value]
        return tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, dict):
        return {name: _map_parts(part, change) for name, part in value.items()}
    return change(value)


def _here(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.zeros(value.shape, dtype=value.dtype)
    return "cpu" if isinstance(value, str | torch.device) and str(value) == "meta" else value


def _there(value: Any) -> Any:
    return value.to("meta") if isinstance(value, torch.Tensor) else value


def _stays(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() > 0 and value.device.type == "cpu"


def _has_elements(value: Any) -> bool:
    is_shape_alone = type(value).__module__ == "torch.nn.attention.bias"
    return isinstance(value, torch.Tensor) and value.dim() > 0 and not is_shape_alone
