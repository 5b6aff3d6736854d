"""The classic explanations of wrong values: zeros, one factor, another order, exchanged axes, no mask, ...

An explanation is tried on the tensors at hand, and told only where it fits within rounding.
"""

from collections.abc import Iterator
from typing import Any

import torch

from grader.sandbox.values import flatten

MOST_ELEMENTS = 20_000
"""Larger tensors are not looked at: the smallest sizes that fail are."""

FEWEST_ELEMENTS = 6
"""Fewer numbers fit too many explanations."""

FEWEST_IN_A_ROW = 3
MOST_SLICES = 12
"""Slices along one axis that are held against each other."""


def explain(seen: torch.Tensor, expected: torch.Tensor, relative: float, absolute: float) -> str:
    """The first explanation that turns what was expected into what was seen, in words; empty where none does."""
    if not FEWEST_ELEMENTS <= seen.numel() <= MOST_ELEMENTS or seen.shape != expected.shape:
        return ""
    ours, theirs = seen.double(), expected.double()
    if not bool(torch.isfinite(ours).all() & torch.isfinite(theirs).all()):
        return ""
    found = _candidates(ours, theirs)
    return next((words for words, explained in found if torch.allclose(ours, explained, relative, absolute)), "")


def _candidates(ours: torch.Tensor, theirs: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Words, and what would be seen if they were true; the simplest come first."""
    yield "every element is 0", torch.zeros_like(theirs)
    yield from _one_factor(ours, theirs)
    yield from _interleaved(theirs)
    yield from _reordered(ours, theirs)
    yield from _exchanged_axes(theirs)
    yield from _same_along(ours, theirs)
    yield from _one_vector_off(ours, theirs)
    yield from _a_factor_for_each_row(ours, theirs)
    yield from _partly_zero(ours, theirs)


def _one_factor(ours: torch.Tensor, theirs: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    power = float((theirs * theirs).sum())
    factor = float((ours * theirs).sum()) / power if power else 0.0
    if factor:
        yield f"every element is {factor:.3g} times what was expected", factor * theirs


def _reordered(ours: torch.Tensor, theirs: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """The slices along an axis in another order."""
    for axis in range(theirs.dim()):
        count = theirs.size(axis)
        if not 1 < count <= MOST_SLICES or theirs.numel() // count < FEWEST_IN_A_ROW:
            continue
        rows = theirs.movedim(axis, 0).reshape(count, -1)
        distances = torch.cdist(ours.movedim(axis, 0).reshape(count, -1), rows)
        order = distances.argmin(1)
        if len(set(order.tolist())) == count:
            listed = ", ".join(map(str, order.tolist()))
            words = f"along axis {axis} what was expected stands in another order: {listed}"
            yield words, theirs.index_select(axis, order)


def _exchanged_axes(theirs: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Two axes of one length, the one for the other."""
    for first in range(theirs.dim()):
        for second in range(first + 1, theirs.dim()):
            if theirs.size(first) == theirs.size(second) > 1:
                words = f"it is what was expected with axes {first} and {second} exchanged"
                yield words, theirs.transpose(first, second)


def _same_along(ours: torch.Tensor, theirs: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """One slice repeated along an axis, where slices should differ."""
    for axis in range(ours.dim()):
        count = ours.size(axis)
        if count == 1 or ours.numel() // count < FEWEST_IN_A_ROW:
            continue
        first, wanted = (each.select(axis, 0).unsqueeze(axis).expand_as(ours) for each in (ours, theirs))
        if not torch.allclose(theirs, wanted):
            yield f"it is the same at every index of axis {axis}, where it should differ", first


def _interleaved(theirs: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """The features of the last axis dealt out to blocks one by one, in place of block after block."""
    features = theirs.size(-1)
    for blocks in range(2, features // 2 + 1):
        if features % blocks == 0:
            dealt = theirs.reshape(*theirs.shape[:-1], blocks, -1).transpose(-1, -2).flatten(-2)
            yield f"the last axis is in another order: its {blocks} blocks of features are dealt out one by one", dealt


def _one_vector_off(ours: torch.Tensor, theirs: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """The same vector of features added everywhere."""
    rows = theirs.numel() // theirs.size(-1)
    if rows > 1:
        difference = (ours - theirs).reshape(rows, -1)[0]
        yield "everywhere the same vector is added to what was expected", theirs + difference


def _a_factor_for_each_row(ours: torch.Tensor, theirs: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Each row along the last axis scaled by itself."""
    if theirs.size(-1) < FEWEST_IN_A_ROW:
        return
    power = (theirs * theirs).sum(-1, keepdim=True)
    factors = (ours * theirs).sum(-1, keepdim=True) / power.clamp_min(torch.finfo(theirs.dtype).tiny)
    low, high = float(factors.min()), float(factors.max())
    yield f"each row is what was expected times a factor of its own, from {low:.3g} to {high:.3g}", factors * theirs


def _partly_zero(ours: torch.Tensor, theirs: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Right where it is not zero."""
    kept = torch.where(ours == 0, ours, theirs)
    count = int(((ours == 0) & (theirs != 0)).sum())
    if count:
        yield f"{count} elements are 0 and the others are right", kept


def explain_by_mask(seen: Any, unmasked: Any, relative: float, absolute: float) -> str:
    """In words that what was seen comes out where masks hide nothing, where it does; `unmasked` is what does then."""
    if not isinstance(seen, torch.Tensor):
        return ""
    alike = [each for each in flatten(unmasked) if (each.shape, each.dtype) == (seen.shape, seen.dtype)]
    fits = any(torch.allclose(seen, each, relative, absolute) for each in alike)
    return "it is what comes out where the mask hides nothing" if fits else ""
