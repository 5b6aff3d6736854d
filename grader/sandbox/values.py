"""Convert tensors and plain values to the protocol's values and back."""

import ctypes
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import torch
from msgspec import structs

from grader.sandbox.protocol import (
    MAX_AXIS,
    MAX_DIMENSIONS,
    MAX_ITEMS,
    MAX_TEXT,
    Mapping,
    Misfit,
    Other,
    Scalar,
    Sequence,
    TensorValue,
    Value,
)
from grader.sandbox.text import sendable

MAX_TENSOR_BYTES = 32 * 1024 * 1024
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
TORCH_DTYPES = {name: getattr(torch, name) for name in DTYPES}
DTYPE_NAMES = {dtype: name for name, dtype in TORCH_DTYPES.items()}
MAX_DEPTH = 8
"""The most levels of nested containers; deeper ones are described in words."""

MAX_INT = 2**63
WORKER_SEED = 67_280_421_310_721
"""Torch's default seed. Every module is built with this seed, so that its initial weights do not depend on earlier
draws. A verdict can be repeated, and a check has the same result alone and among others."""

LARGEST_WEIGHT = 0.3
"""The largest random weight that the kit draws."""

USUAL_SPREAD = (0.25, 6.0)
"""The least and the largest usual spread of a matrix: its standard deviation times the root of the length of a row.
A smaller spread hides the layers before it. A larger one saturates the layers after it. In torch's own layers the
spread is about 0.6 at first."""

PLAIN = (bool, int, float, type(None))
"""Types without parts, whose values are always small enough."""


def to_tensor(value: TensorValue) -> torch.Tensor:
    """Return a tensor with its own memory; raise `ValueError` unless dtype, shape and number of bytes agree."""
    dtype = TORCH_DTYPES.get(value.dtype)
    if dtype is None:
        raise ValueError(f"no such dtype: {value.dtype[:40]}")
    if len(value.shape) > MAX_DIMENSIONS:
        raise ValueError(f"a tensor of {len(value.shape):,} dimensions; at most {MAX_DIMENSIONS} are allowed")
    if min(value.shape, default=0) < 0 or math.prod(value.shape) * dtype.itemsize != len(value.data):
        raise ValueError(f"{len(value.data)} bytes do not make a {value.dtype} tensor of shape {value.shape[:10]}")
    try:
        if not value.data:
            return torch.empty(value.shape, dtype=dtype)
        return torch.frombuffer(bytearray(value.data), dtype=dtype).reshape(value.shape)
    except (RuntimeError, TypeError) as error:  # beside a size of 0, another size may be any number
        raise ValueError(f"{len(value.data)} bytes do not make a tensor of shape {value.shape[:10]}") from error


def from_tensor(tensor: torch.Tensor) -> TensorValue:
    """Convert a dense CPU tensor; raise `ValueError` for any other, before copying."""
    obstacle = why_not_sent(tensor)
    if obstacle:
        raise ValueError(f"{obstacle} cannot be sent")
    return _copied(tensor)


def from_tensors(tensors: dict[str, torch.Tensor]) -> dict[str, TensorValue]:
    """Convert each tensor as `from_tensor` does."""
    return {name: from_tensor(tensor) for name, tensor in tensors.items()}


def gradient_of(tensor: torch.Tensor) -> TensorValue | None:
    """Return a tensor's gradient, or None if it has none."""
    return None if tensor.grad is None else from_tensor(tensor.grad)


def _copied(tensor: torch.Tensor) -> TensorValue:
    dense = tensor.detach().resolve_conj().resolve_neg().contiguous()
    data = ctypes.string_at(dense.data_ptr(), dense.numel() * dense.element_size()) if dense.numel() else b""
    return TensorValue(dtype=DTYPE_NAMES[dense.dtype], shape=list(dense.shape), data=data)


def to_python(value: Value) -> Any:
    """Convert to plain Python values and tensors; an `Other` stays as it is."""
    if isinstance(value, TensorValue):
        return to_tensor(value)
    if isinstance(value, Sequence):
        items = [to_python(item) for item in value.items]
        return tuple(items) if value.is_tuple else items
    if isinstance(value, Mapping):
        return {key: to_python(item) for key, item in value.items.items()}
    if isinstance(value, Scalar):
        return value.value
    return value


def from_python(value: Any) -> Value:
    """Convert a submission's value. Parts that cannot be sent are described, and so is a value that is too large."""
    if type(value) in PLAIN:
        return _pack(value)
    if _is_tensor(value):
        return _from_any_tensor(value)
    obstacle = _why_too_large(value)
    return Other(description=obstacle) if obstacle else _pack(value)


def from_each(values: Iterable[Any]) -> Value:
    """Convert several values, each before the next is computed, which may overwrite it."""
    items, size = [], 0
    for value in values:
        items.append(from_python(value))
        size += _size(items[-1])
        if size > MAX_TENSOR_BYTES:
            return Other(description=f"tensors of {size:,} bytes together, over the limit of {MAX_TENSOR_BYTES:,}")
    return Sequence(items=items, is_tuple=False)


def _size(value: Value) -> int:
    """Return the bytes of the tensors in a converted value."""
    if isinstance(value, TensorValue):
        return len(value.data)
    if isinstance(value, Sequence | Mapping):
        return sum(map(_size, value.items.values() if isinstance(value, Mapping) else value.items))
    return 0


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Return the tensors in a value that can be sent, in order."""
    if _why_too_large(value):
        return []
    return [part for part in _parts(value) if _is_tensor(part) and not why_not_sent(part)]


def backward(value: Any, cotangents: list[TensorValue]) -> bool:
    """Run a backward pass from the sum of outputs times cotangents.

    Return False if they do not fit, or if no output requires a gradient.
    """
    outputs = [tensor for tensor in tensors_in(value) if tensor.is_floating_point()]
    if len(outputs) != len(cotangents):
        return False
    pairs = [(output, to_tensor(value)) for output, value in zip(outputs, cotangents, strict=True)]
    if any(output.shape != cotangent.shape for output, cotangent in pairs):
        return False
    live = [(output * cotangent).sum() for output, cotangent in pairs if output.requires_grad]
    if not live:
        return False
    sum(live[1:], start=live[0]).backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
    return True


def _why_too_large(value: Any) -> str:
    """Return why a value is too large to send, before copying any of it; empty if it is not."""
    parts = list(islice(_parts(value), MAX_ITEMS + 1))
    if len(parts) > MAX_ITEMS:
        return f"an object of type {type_name(type(value))} with more than {MAX_ITEMS:,} values"
    tensors = [part for part in parts if _is_tensor(part) and not why_not_sent(part)]
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    if size > MAX_TENSOR_BYTES:
        return f"tensors of {size:,} bytes together, over the limit of {MAX_TENSOR_BYTES:,}"
    return ""


def _parts(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield a value and its parts, in order, down to `MAX_DEPTH`."""
    yield value
    value = _plain_tuple(value)
    if depth < MAX_DEPTH and type(value) in (tuple, list, dict):
        for item in _items(value):
            yield from _parts(item, depth + 1)


def _items(value: Any) -> Iterable[Any]:
    """Return the items of a container; a dictionary's values in the order of `outputs_of`."""
    is_named = type(value) is dict and all(type(key) is str for key in value)
    return outputs_of(value) if is_named or type(value) is not dict else value.values()


def _is_tensor(value: Any) -> bool:
    """Return whether a value has torch's own tensor type; a subclass could override its methods."""
    return type(value) is torch.Tensor or type(value) is torch.nn.Parameter


def _plain_tuple(value: Any) -> Any:
    """Return the value, a named tuple as a plain tuple, without calling methods of its class."""
    return tuple.__getitem__(value, slice(None)) if issubclass(type(value), tuple) else value


def _pack(value: Any, depth: int = 0) -> Value:
    value = _plain_tuple(value)
    kind = type(value)
    if _is_tensor(value):
        return _from_any_tensor(value)
    if kind is bool or kind is float or value is None or (kind is int and abs(value) < MAX_INT):
        return Scalar(value=value)
    if kind is str:
        return Scalar(value=sendable(value[:MAX_TEXT]))
    if depth < MAX_DEPTH and kind in (tuple, list):
        return Sequence(items=[_pack(item, depth + 1) for item in value], is_tuple=kind is tuple)
    if depth < MAX_DEPTH and kind is dict and all(type(key) is str for key in value):
        return Mapping(items={sendable(key[:MAX_TEXT]): _pack(item, depth + 1) for key, item in value.items()})
    return Other(description=f"an object of type {type_name(kind)}"[:MAX_TEXT])


def type_name(kind: type) -> str:
    """Return a class's qualified name, or `?` if the class has replaced it."""
    name = getattr(kind, "__qualname__", "?")
    return name[:200] if type(name) is str else "?"


def why_not_sent(tensor: torch.Tensor) -> str:
    """Describe a tensor that cannot be sent; empty if it can."""
    if tensor.is_nested:
        return "a nested tensor"
    if tensor.layout is not torch.strided:
        return f"a tensor of layout {tensor.layout}"
    if tensor.device.type != "cpu":
        return f"a tensor on device {tensor.device}"
    if tensor.dtype not in DTYPE_NAMES:
        return f"a tensor of dtype {tensor.dtype}"
    if tensor.dim() > MAX_DIMENSIONS:
        return f"a tensor of {tensor.dim()} dimensions"
    if max(tensor.shape, default=0) > MAX_AXIS:
        return f"a tensor of shape {tuple(tensor.shape)}"
    size = tensor.numel() * tensor.element_size()
    if size > MAX_TENSOR_BYTES:
        return f"a tensor of shape {tuple(tensor.shape)}, {size:,} bytes"
    return ""


def _from_any_tensor(tensor: torch.Tensor) -> Value:
    obstacle = why_not_sent(tensor)
    return Other(description=obstacle[:MAX_TEXT]) if obstacle else _copied(tensor)


def seed() -> None:
    """Reset torch's random numbers."""
    torch.default_generator.manual_seed(WORKER_SEED)  # torch.manual_seed stores a stack trace for each missing device


def copy_parameters(parameters: dict[str, torch.nn.Parameter], values: dict[str, TensorValue]) -> list[Misfit]:
    """Copy values into parameters by name; return the parameters that are missing or have another shape.

    Without values, matrices of zeros, and of unusually small or large numbers, get random values.
    """
    misfits = []
    with torch.no_grad():
        _draw(each for each in parameters.values() if not values and not _has_usual_spread(each))
        _redraw(parameter for name, parameter in parameters.items() if values and name not in values)
        for name, value in values.items():
            parameter = parameters.get(name)
            if parameter is None:
                misfits.append(Misfit(name=name, expected=value.shape))
            elif list(parameter.shape) != value.shape:
                misfits.append(Misfit(name=name, expected=value.shape, shape=list(parameter.shape)))
            else:
                parameter.copy_(to_tensor(value))
    return misfits


def with_shared_parts(module: object, misfits: list[Misfit]) -> list[Misfit]:
    """Name the part that a module has twice in the misfits of its parameters, such as heads.1 and heads.0."""
    if not isinstance(module, torch.nn.Module):
        return misfits
    names = {id(parameter): name for name, parameter in torch.nn.Module.named_parameters(module)}
    shared = {}
    for name, parameter in torch.nn.Module.named_parameters(module, remove_duplicate=False):
        first = names.get(id(parameter), name)
        if first != name:
            part, other = _largest_shared_part(module, name, first)
            shared[name] = {"part": part, "same_as": other}
    return [structs.replace(each, **shared.get(each.name, {})) for each in misfits]


def _largest_shared_part(module: torch.nn.Module, name: str, first: str) -> tuple[str, str]:
    """Return the two names of the largest submodule that contains the parameter; without one, the two given names."""
    parts, others = name.split("."), first.split(".")
    for length in range(1, min(len(parts), len(others))):
        part, other = ".".join(parts[:length]), ".".join(others[:length])
        is_same_below = parts[length:] == others[length:]
        if is_same_below and part != other and module.get_submodule(part) is module.get_submodule(other):
            return part, other
    return name, first


def _has_usual_spread(parameter: torch.nn.Parameter) -> bool:
    """Return whether the spread of a matrix is in `USUAL_SPREAD`. Vectors have no bounds."""
    if parameter.dim() <= 1 or parameter.numel() <= 1:
        return True
    least, most = USUAL_SPREAD
    spread = float(parameter.double().std() * parameter[0].numel() ** 0.5)
    return least <= spread <= most


def _redraw(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Draw random parameters again, so that they do not depend on other draws in the constructor."""
    _draw(each for each in parameters if each.numel() > 1 and bool((each != each.flatten()[0]).any()))


def _draw(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Draw random values for parameters, and restore torch's generator afterwards."""
    wanted = [parameter for parameter in parameters if parameter.is_floating_point()]
    if not wanted:
        return
    state = torch.default_generator.get_state()  # a new generator would import all of torch
    seed()
    for parameter in wanted:
        parameter.uniform_(-LARGEST_WEIGHT, LARGEST_WEIGHT)
    torch.default_generator.set_state(state)


def outputs_of(value: Any) -> list[Any]:
    """Return the outputs in a returned value: the items of a tuple or list, a dictionary's sorted by key, or itself."""
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return list(value) if isinstance(value, tuple | list) else [value]


def first_output(value: Any) -> torch.Tensor:
    """Return the first output in a returned value."""
    first: torch.Tensor = outputs_of(value)[0]
    return first


def flatten(value: Any) -> list[torch.Tensor]:
    """Return the tensors in a returned value, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, tuple | list | dict):
        return [tensor for item in outputs_of(value) for tensor in flatten(item)]
    return []


def map_tensors(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Return a value with `change` applied to its tensors; named tuples become plain tuples."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: map_tensors(item, change) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [map_tensors(item, change) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def version_of(tensor: torch.Tensor) -> int:
    """Return how often a tensor was written to; 0 for a tensor made in inference mode."""
    return 0 if tensor.is_inference() else tensor._version  # noqa: SLF001 - torch has no public name for it
