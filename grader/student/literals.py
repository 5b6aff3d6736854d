"""Tensors as Python code: written out, or as a change of another tensor."""

import math
import struct

import torch

FEW = 12
"""A tensor of more equal elements than this is written as `torch.full`."""


def literal(tensor: torch.Tensor) -> str:
    """Return an expression of a tensor, with the fewest digits that give each number."""
    is_usual = tensor.dtype in (torch.float32, torch.int64, torch.bool) and tensor.numel() > 0
    dtype = "" if is_usual else f", dtype={tensor.dtype}"
    if tensor.numel() > FEW and bool((tensor == tensor.flatten()[0]).all()):
        value = tensor.flatten()[0].item()
        return f"torch.full({tuple(tensor.shape)}, {value!r}{dtype})"
    return f"torch.tensor({_listed(tensor)}{dtype})"


def as_change(variable: str, name: str, tensor: torch.Tensor, first: torch.Tensor) -> list[str]:
    """Return the lines that make a tensor from another one; none if there is no short way."""
    if tensor.shape != first.shape:
        for axis in range(min(tensor.dim(), first.dim())):
            for start in range(first.size(axis) - tensor.size(axis) + 1):
                part = first.narrow(axis, start, tensor.size(axis)) if tensor.size(axis) <= first.size(axis) else None
                if part is not None and part.shape == tensor.shape and torch.equal(part, tensor):
                    return [f"{variable} = {name}.narrow({axis}, {start}, {tensor.size(axis)})"]
        return []
    for axis in range(tensor.dim()):
        if torch.equal(first.flip(axis), tensor):
            return [f"{variable} = {name}.flip({axis})"]
    place = difference(tensor, first)
    if place is None:
        return []
    axis, index = place
    where = ", ".join([":"] * axis + [str(index)])
    return [f"{variable} = {name}.clone()", f"{variable}[{where}] = {literal(tensor.select(axis, index))}"]


def difference(changed: torch.Tensor, before: torch.Tensor) -> tuple[int, int] | None:
    """Return the axis and the only index along it at which two tensors differ; None if there is no such axis."""
    if changed.shape != before.shape:
        return None
    for axis in range(changed.dim()):
        off = (changed != before).movedim(axis, 0).reshape(changed.size(axis), -1).any(1)
        if int(off.sum()) == 1 and changed.size(axis) > 1:
            return axis, int(off.nonzero()[0])
    return None


def _listed(tensor: torch.Tensor) -> str:
    if tensor.dim():
        return f"[{', '.join(map(_listed, tensor))}]"
    value = tensor.item()
    if not isinstance(value, float):
        return repr(value)
    if not math.isfinite(value):
        return f'float("{value}")'
    if tensor.dtype is torch.float64:
        return repr(value)
    text = next(
        text for digits in range(1, 18) if _as_float32(float(text := f"{value:.{digits}g}")) == _as_float32(value)
    )
    return text if set(text) & {".", "e"} else f"{text}."


def _as_float32(value: float) -> bytes:
    return struct.pack("f", value)
