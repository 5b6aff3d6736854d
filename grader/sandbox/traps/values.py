"""Convert the values of a trap's calls to messages and back: tensors with strides, containers, dtypes, slices."""

from collections.abc import Callable, Iterable, Iterator, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any

import numpy as np
import torch

from grader.sandbox.protocol import MAX_ITEMS, MAX_TEXT, TensorValue
from grader.sandbox.text import sendable
from grader.sandbox.traps.messages import (
    Items,
    Named,
    Pairs,
    Plain,
    Ref,
    Special,
    Tensor,
    Unknown,
    Value,
)
from grader.sandbox.values import (
    DTYPE_NAMES,
    MAX_DEPTH,
    MAX_INT,
    MAX_TENSOR_BYTES,
    from_tensor,
    to_tensor,
    type_name,
    why_not_sent,
)

MAX_CALL_BYTES = MAX_TENSOR_BYTES
"""The most bytes of all tensors in one call."""

ONES = {"float32": torch.int32, "float64": torch.int64}
"""Integers of the size of a float, for changes of its last bit."""

USUAL = "tensors and plain values"
USUAL_TENSOR = f"a dense CPU tensor of a usual dtype, of at most {MAX_TENSOR_BYTES >> 20} MiB"
"""What to send instead of a value that cannot be sent."""

Change = Callable[[torch.Tensor], torch.Tensor]


class TooLargeError(Exception):
    """The tensors of a message are too large."""


class Writer:
    """Collects the tensors of one message, and converts the values around them."""

    def __init__(
        self, special: Callable[[Any], Value | None], change: Change | None = None, *, takes_iterators: bool = False
    ) -> None:
        """`special` converts values of its side's own classes; `change` changes each tensor before it is sent.

        With `takes_iterators`, iterators are used up. That runs code, so the subject's side does not do it.
        """
        self.problems: list[str] = []
        """The values that cannot be sent, each with what to send instead."""
        self.tensors: list[Tensor] = []
        self.objects: list[torch.Tensor] = []
        """The tensors themselves, which keeps them alive while their ids count."""
        self._special, self._change, self._takes_iterators = special, change, takes_iterators
        self._places: dict[int, int] = {}
        self._size = 0

    def place(self, tensor: torch.Tensor) -> int:
        """Return the place of a tensor. Add the tensor if it is new. Raise `ValueError` if it cannot be sent."""
        if id(tensor) not in self._places:
            self._size += tensor.numel() * tensor.element_size()
            if self._size > MAX_CALL_BYTES:
                raise TooLargeError(f"tensors of more than {MAX_CALL_BYTES:,} bytes in one call")
            sent = self._change(tensor.detach()) if self._change else tensor
            value = from_tensor(sent)
            strides = [] if tensor.is_contiguous() else list(tensor.stride())
            self._places[id(tensor)] = len(self.tensors)
            self.objects.append(tensor)
            self.tensors.append(
                Tensor(
                    dtype=value.dtype,
                    shape=value.shape,
                    data=value.data,
                    strides=strides,
                    requires_grad=tensor.requires_grad,
                    is_leaf=tensor.is_leaf,
                    is_parameter=isinstance(tensor, torch.nn.Parameter),
                )
            )
        return self._places[id(tensor)]

    def value(self, value: Any, depth: int = 0) -> Value:
        """Convert a value to a message. Return a description for a value that cannot be sent."""
        special = self._special(value)
        if special is not None:
            return special
        kind = type(value)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            obstacle = why_not_sent(value)
            return self._unknown(obstacle, USUAL_TENSOR) if obstacle else Ref(place=self.place(value))
        if issubclass(kind, np.ndarray):
            return self._unknown("a numpy array", "a tensor: torch.from_numpy(array)")
        found = _simple(value.item() if issubclass(kind, np.generic) else value)
        if found is None and depth < MAX_DEPTH:
            found = self._container(value, depth + 1)
        return found or self._unknown(f"an object of type {type_name(kind)}", USUAL)

    def _unknown(self, description: str, remedy: str) -> Unknown:
        self.problems.append(f"{description}; give it {remedy}")
        return Unknown(description=description[:MAX_TEXT])

    def require_sendable(self) -> None:
        """Raise `TypeError` if any value could not be sent."""
        if self.problems:
            raise TypeError(f"the subject cannot get {self.problems[0]}")

    def _container(self, value: Any, depth: int) -> Value | None:
        if type(value) is slice:
            return Named(
                kind="slice", parts=[self.value(part, depth) for part in (value.start, value.stop, value.step)]
            )
        if isinstance(value, tuple | list) and len(value) <= MAX_ITEMS:
            return Items(items=[self.value(item, depth) for item in value], is_tuple=isinstance(value, tuple))
        if isinstance(value, dict) and len(value) <= MAX_ITEMS:
            return Pairs(items=[(self.value(key, depth), self.value(item, depth)) for key, item in value.items()])
        if self._takes_iterators and isinstance(value, Iterator | AbstractSet | ValuesView | range):
            return self._listed(value, depth)
        return None

    def _listed(self, value: Iterable[Any], depth: int) -> Value:
        items = list(islice(value, MAX_ITEMS + 1))
        if len(items) > MAX_ITEMS:
            return self._unknown(
                f"an object of type {type_name(type(value))} with more than {MAX_ITEMS:,} items", "a shorter list"
            )
        return Items(items=[self.value(item, depth) for item in items], is_tuple=False)


def _simple(value: Any) -> Value | None:
    """Return the message for a value without parts; None for other values."""
    kind = type(value)
    if value is None or kind in (bool, float) or (kind is int and abs(value) < MAX_INT):
        return Plain(value=value)
    if kind is str:
        return Plain(value=sendable(value[:MAX_TEXT]))
    if kind is torch.dtype:
        return Named(kind="dtype", parts=[Plain(value=str(value).removeprefix("torch."))])
    if kind is torch.device:
        return Named(kind="device", parts=[Plain(value=str(value))])
    return Named(kind="ellipsis") if value is Ellipsis else None


class Reader:
    """The tensors of one received message, and the values around them."""

    def __init__(self, tensors: Sequence[Tensor], special: Callable[[Special], Any]) -> None:
        self.tensors = [unpack(each) for each in tensors]
        self.requires_grad = [each.requires_grad for each in tensors]
        """Whether they require gradients where they were sent; the received ones do not yet."""
        self._special = special

    def value(self, value: Value) -> Any:
        """Convert a value back."""
        if isinstance(value, Ref):
            return self.tensors[value.place]
        if isinstance(value, Plain):
            return value.value
        if isinstance(value, Items):
            items = [self.value(item) for item in value.items]
            return tuple(items) if value.is_tuple else items
        if isinstance(value, Pairs):
            return {self.value(key): self.value(item) for key, item in value.items}
        if isinstance(value, Named):
            return _of_name(value.kind, [self.value(part) for part in value.parts])
        return self._special(value)


def _of_name(kind: str, parts: list[Any]) -> Any:
    if kind == "slice":
        return slice(*parts)
    if kind == "device":
        return torch.device(str(parts[0]))
    found = getattr(torch, str(parts[0]), None) if kind == "dtype" else Ellipsis
    if kind == "dtype" and not isinstance(found, torch.dtype):
        raise ValueError(f"no such dtype: {str(parts[0])[:40]}")
    return found


def unpack(tensor: Tensor) -> torch.Tensor:
    """Return a tensor with its own memory and the strides of the original; raise `ValueError` for a wrong message."""
    dense = to_tensor(TensorValue(dtype=tensor.dtype, shape=tensor.shape, data=tensor.data))
    if not tensor.strides or len(tensor.strides) != dense.dim():
        return dense
    shape = [1 if stride == 0 else size for size, stride in zip(dense.shape, tensor.strides, strict=True)]
    reach = sum((size - 1) * stride for size, stride in zip(shape, tensor.strides, strict=True) if size)
    if not dense.numel() or reach * dense.element_size() > MAX_CALL_BYTES:
        return dense
    storage = torch.empty_strided(shape, tensor.strides, dtype=dense.dtype)
    storage.copy_(dense[tuple(slice(0, size) for size in shape)])
    return storage.expand(dense.shape)


_equal = torch.equal
"""Torch's own function: while a test runs, `torch.equal` records comparisons of the test."""


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors have the same dtype, shape and bits."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if not one.numel():
        return True
    left, right = one.detach().contiguous(), other.detach().contiguous()
    bits: Any = (each.reshape(-1).view(torch.uint8) for each in (left, right))
    return _equal(*bits)


def noisy(tensor: torch.Tensor, key: int) -> torch.Tensor:
    """Return a tensor with the last bit of about half of its numbers changed, as another order of additions would.

    The change follows from the number alone, so equal numbers stay equal. Whole numbers and special values stay.
    """
    name = DTYPE_NAMES.get(tensor.dtype, "")
    if name not in ONES or not tensor.numel():
        return tensor
    bits: Any = tensor.contiguous().view(ONES[name])
    odd = ((bits * 2654435761 + key) >> 7) & 1
    is_plain = torch.isfinite(tensor) & (tensor != tensor.round())
    return torch.where(is_plain, (bits ^ odd).view(tensor.dtype), tensor)
