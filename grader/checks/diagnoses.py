"""Diagnose wrong values: zeros, one factor, another order, exchanged axes, no mask, ...

A diagnosis is only used if it reproduces the submission's values within rounding.

Tensors: `ours` is the submission's, `theirs` the reference's, both of shape (*S, N) in float64. Axis `a` has n_a
slices of numel / n_a elements each.
"""

from collections.abc import Iterator
from typing import Any

import torch

from grader.checks.outcome import Diagnosis, DiagnosisKind
from grader.sandbox.values import flatten

MAX_ELEMENTS = 20_000
"""Larger tensors are not diagnosed; the smallest sizes that fail are small enough."""

FEWEST_ELEMENTS = 6
"""Fewer values would fit too many diagnoses."""

FEWEST_IN_A_ROW = 3
ENOUGH_ROWS = 0.5
"""The share of rows that must be off before a diagnosis speaks of every row."""

MAX_SLICES = 12
"""The most slices along one axis that are compared with each other."""

Candidate = tuple[Diagnosis, torch.Tensor]
"""A diagnosis, and the values that it predicts, in the shape of `theirs`."""


def diagnose(observed: torch.Tensor, expected: torch.Tensor, relative: float, absolute: float) -> Diagnosis | None:
    """Return the first diagnosis that predicts `observed` from `expected`, both (*S, N); None if none does."""
    if not FEWEST_ELEMENTS <= observed.numel() <= MAX_ELEMENTS or observed.shape != expected.shape:
        return None
    ours, theirs = observed.double(), expected.double()
    if not bool(torch.isfinite(ours).all() & torch.isfinite(theirs).all()):
        return None
    off = ~torch.isclose(ours, theirs, relative, absolute)
    candidates = _candidates(ours, theirs, has_many_rows_off=_share_of_rows(off) >= ENOUGH_ROWS)
    return next((each for each, values in candidates if torch.allclose(ours, values, relative, absolute)), None)


def diagnose_by_mask(observed: Any, unmasked: Any, relative: float, absolute: float) -> Diagnosis | None:
    """Return a diagnosis if `observed` equals one of the tensors in `unmasked`, the outputs without any mask."""
    if not isinstance(observed, torch.Tensor):
        return None
    similar = [each for each in flatten(unmasked) if (each.shape, each.dtype) == (observed.shape, observed.dtype)]
    fits = any(torch.allclose(observed, each, relative, absolute) for each in similar)
    return Diagnosis(kind=DiagnosisKind.NOTHING_MASKED) if fits else None


def _share_of_rows(off: torch.Tensor) -> float:
    """Return the share of rows along the last axis in which an element is off."""
    return float(off.reshape(-1, off.size(-1)).any(-1).double().mean())


def _candidates(ours: torch.Tensor, theirs: torch.Tensor, *, has_many_rows_off: bool) -> Iterator[Candidate]:
    """Yield all candidates, the simplest first. A factor or a vector for every row needs many rows that are off."""
    yield Diagnosis(kind=DiagnosisKind.ALL_ZERO), torch.zeros_like(theirs)
    if has_many_rows_off:
        yield from _one_factor(ours, theirs)
    yield from _interleaved(theirs)
    yield from _reordered(ours, theirs)
    yield from _exchanged_axes(theirs)
    yield from _constant_along_axis(ours, theirs)
    if has_many_rows_off:
        yield from _vector_added(ours, theirs)
        yield from _row_factors(ours, theirs)
    yield from _partly_zero(ours, theirs)


def _one_factor(ours: torch.Tensor, theirs: torch.Tensor) -> Iterator[Candidate]:
    """Try the least-squares factor from `theirs` to `ours`."""
    power = float((theirs * theirs).sum())
    factor = float((ours * theirs).sum()) / power if power else 0.0
    if factor:
        yield Diagnosis(kind=DiagnosisKind.ONE_FACTOR, numbers=[factor]), factor * theirs


def _interleaved(theirs: torch.Tensor) -> Iterator[Candidate]:
    """Try the last axis interleaved: (*S, B, N / B) with its last two axes exchanged, then flattened."""
    features = theirs.size(-1)
    for blocks in range(2, features // 2 + 1):
        if features % blocks == 0:
            values = theirs.reshape(*theirs.shape[:-1], blocks, -1).transpose(-1, -2).flatten(-2)
            yield Diagnosis(kind=DiagnosisKind.INTERLEAVED, numbers=[blocks]), values


def _reordered(ours: torch.Tensor, theirs: torch.Tensor) -> Iterator[Candidate]:
    """Try the slices along an axis in another order: for each slice its nearest neighbour in `theirs`."""
    for axis in range(theirs.dim()):
        count = theirs.size(axis)
        if not 1 < count <= MAX_SLICES or theirs.numel() // count < FEWEST_IN_A_ROW:
            continue
        rows = theirs.movedim(axis, 0).reshape(count, -1)  # (n_a, numel / n_a)
        distances = torch.cdist(ours.movedim(axis, 0).reshape(count, -1), rows)  # (n_a, n_a)
        order = distances.argmin(1)
        if len(set(order.tolist())) == count:
            diagnosis = Diagnosis(kind=DiagnosisKind.REORDERED, numbers=[axis, *order.tolist()])
            yield diagnosis, theirs.index_select(axis, order)


def _exchanged_axes(theirs: torch.Tensor) -> Iterator[Candidate]:
    """Try exchanging two axes of equal length."""
    for first in range(theirs.dim()):
        for second in range(first + 1, theirs.dim()):
            if theirs.size(first) == theirs.size(second) > 1:
                diagnosis = Diagnosis(kind=DiagnosisKind.EXCHANGED_AXES, numbers=[first, second])
                yield diagnosis, theirs.transpose(first, second)


def _constant_along_axis(ours: torch.Tensor, theirs: torch.Tensor) -> Iterator[Candidate]:
    """Try repeating the first slice along an axis, if the slices of `theirs` differ."""
    for axis in range(ours.dim()):
        count = ours.size(axis)
        if count == 1 or ours.numel() // count < FEWEST_IN_A_ROW:
            continue
        repeated, wanted = (each.select(axis, 0).unsqueeze(axis).expand_as(ours) for each in (ours, theirs))
        if not torch.allclose(theirs, wanted):
            yield Diagnosis(kind=DiagnosisKind.CONSTANT_ALONG_AXIS, numbers=[axis]), repeated


def _vector_added(ours: torch.Tensor, theirs: torch.Tensor) -> Iterator[Candidate]:
    """Try adding one vector (N) to every row."""
    rows = theirs.numel() // theirs.size(-1)
    if rows > 1:
        difference = (ours - theirs).reshape(rows, -1)[0]
        yield Diagnosis(kind=DiagnosisKind.VECTOR_ADDED), theirs + difference


def _row_factors(ours: torch.Tensor, theirs: torch.Tensor) -> Iterator[Candidate]:
    """Try scaling each row along the last axis by its own factor (*S, 1)."""
    if theirs.size(-1) < FEWEST_IN_A_ROW:
        return
    power = (theirs * theirs).sum(-1, keepdim=True)
    factors = (ours * theirs).sum(-1, keepdim=True) / power.clamp_min(torch.finfo(theirs.dtype).tiny)
    ends = [float(factors.min()), float(factors.max())]
    yield Diagnosis(kind=DiagnosisKind.ROW_FACTORS, numbers=ends), factors * theirs


def _partly_zero(ours: torch.Tensor, theirs: torch.Tensor) -> Iterator[Candidate]:
    """Try `theirs` with zeros wherever `ours` is zero."""
    kept = torch.where(ours == 0, ours, theirs)
    count = int(((ours == 0) & (theirs != 0)).sum())
    if count:
        yield Diagnosis(kind=DiagnosisKind.PARTLY_ZERO, numbers=[count]), kept
