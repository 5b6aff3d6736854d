"""Make pictures of tensors: values, attention weights for each head, and gradients of parameters.

`observed` is the submission's tensor and `expected` the reference's, of equal shape. Values that are equal at smaller
sizes are recorded, so that a picture can show them beside the sizes that fail.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from msgspec import structs

from grader.checks.outcome import Map, Picture, PictureKind
from grader.checks.tolerances import NEGLIGIBLE
from grader.sandbox.text import as_index

Gradients = Mapping[str, "torch.Tensor | None"]


MATRIX = 2
MAX_AXES = 6
LARGEST_MAP = 24
"""The most rows and columns of a map, so that even a verdict with a dozen maps is sent in a millisecond."""

MAX_HEADS = 4
MAX_BARS = 12
ROUNDED = 1e-3
"""Tolerance for the sum of attention weights, in any dtype."""

_passed: ContextVar[dict[Hashable, tuple[Any, Any]] | None] = ContextVar("passed", default=None)


@contextmanager
def recorded() -> Iterator[dict[Hashable, tuple[Any, Any]]]:
    """Record the pairs of observed and expected values that are equal, by comparison."""
    passed: dict[Hashable, tuple[Any, Any]] = {}
    token = _passed.set(passed)
    try:
        yield passed
    finally:
        _passed.reset(token)


def record(compared: Hashable, observed: Any, expected: Any) -> None:
    """Store a pair of equal values if recording is on."""
    passed = _passed.get()
    if passed is not None:
        passed[compared] = observed, expected


def beside(picture: Picture, observed: Any, expected: Any, sizes: dict[str, int]) -> Picture:
    """Add to a picture the same maps at the sizes that pass."""
    other = gradients(observed, expected) if picture.kind is PictureKind.GRADIENTS else values(observed, expected)
    if other is None or other.kind is not picture.kind:
        return picture
    plain = [structs.replace(each, marked=[]) for each in other.maps]
    return structs.replace(picture, passing=plain, passing_sizes=sizes)


def values(
    observed: torch.Tensor, expected: torch.Tensor, worst: list[int] | None = None, axes: Sequence[str] = ()
) -> Picture | None:
    """Make a picture of the last two axes: expected, observed and their difference.

    `worst` is the index of the worst value, which selects the matrix. `axes` are the names of the tensor's axes.
    None if the tensors cannot be drawn.
    """
    if (
        not 0 < observed.dim() <= MAX_AXES
        or observed.is_complex()
        or observed.shape != expected.shape
        or not observed.numel()
    ):
        return None
    ours, theirs = (each.detach().double() for each in (observed, expected))
    at = worst or [0] * ours.dim()
    keys = _axis_of_keys(theirs)
    if keys is not None:
        return _weights({"expected": theirs, "yours": ours}, at, keys)
    if ours.dim() == 1:
        ours, theirs, at, axes = ours.reshape(1, -1), theirs.reshape(1, -1), [0, *at], ["", *(axes or ["elements"])]
    for index in at[:-2]:
        ours, theirs = ours[index], theirs[index]
    if ours.numel() == 1:
        return None  # one cell adds nothing to the finding
    marked = [(at[-2], at[-1])] if worst else []
    first, area = _area(at[-2], at[-1])
    maps = [
        Map(
            title=title,
            cells=each[area].tolist(),
            marked=[(row - first[0], column - first[1]) for row, column in marked],
        )
        for title, each in (("expected", theirs), ("yours", ours), ("difference", ours - theirs))
    ]
    place = as_index(at[:-2]) if at[:-2] else ""
    picture = Picture(kind=PictureKind.VALUES, maps=maps, across=len(maps), place=place, first=first)
    return structs.replace(picture, rows=axes[-2], columns=axes[-1]) if len(axes) >= MATRIX else picture


def lone_weights(weights: torch.Tensor, worst_sum: list[int], keys: int) -> Picture | None:
    """Make a picture of attention weights with a row that does not sum to 1.

    `worst_sum` is the index of the row, without the axis of keys; `keys` is that axis. None if it cannot be drawn.
    """
    keys %= weights.dim()
    if not MATRIX < weights.dim() <= MAX_AXES or not keys or not weights.numel():
        return None
    at = [*worst_sum[:keys], 0, *worst_sum[keys:]]
    return _weights({"yours": weights.detach().double()}, at, keys, marks_row=True)


def gradients(observed: Gradients, expected: Gradients) -> Picture:
    """Make a picture of each parameter's gradient: its largest element, expected and observed."""
    sizes = {
        name: (_size(gradient), _size(observed.get(name)))
        for name, gradient in expected.items()
        if gradient is not None
    }
    missing = [name for name, (theirs, ours) in sizes.items() if theirs and not ours]
    shown = [*missing, *(name for name in sizes if name not in missing)][:MAX_BARS]
    names = [name for name in sizes if name in shown]
    theirs, ours = ([[sizes[name][index] for name in names]] for index in (0, 1))
    marked = [(0, index) for index, name in enumerate(names) if name in missing]
    maps = [Map(title="expected", cells=theirs), Map(title="yours", cells=ours, marked=marked)]
    return Picture(kind=PictureKind.GRADIENTS, maps=maps, names=names)


def _weights(tensors: dict[str, torch.Tensor], at: list[int], keys: int, *, marks_row: bool = False) -> Picture:
    """Make maps of the weights (Q, K) of each head, for the sample with the worst value."""
    rank = len(at)
    order = [*(axis for axis in range(rank) if axis not in (keys - 1, keys)), keys - 1, keys]
    at = [at[axis] for axis in order]
    heads, maps = range(0), []
    for title, tensor in tensors.items():
        matrices = tensor.permute(order)[tuple(at[:-3])]
        start = max(0, min(at[-3] - MAX_HEADS + 1, len(matrices) - MAX_HEADS))
        heads = range(start, min(start + MAX_HEADS, len(matrices)))
        first, area = _area(at[-2], at[-1])
        for head in heads:
            cells = matrices[head][area].tolist()
            columns = range(len(cells[0])) if marks_row else [at[-1] - first[1]]
            marked = [(at[-2] - first[0], column) for column in columns] if head == at[-3] else []
            name = f"{title}, {'head' if rank > MATRIX + 1 else 'matrix'} {head}"
            maps.append(Map(title=name, cells=cells, marked=marked))
    return Picture(
        kind=PictureKind.WEIGHTS,
        maps=maps,
        across=len(heads),
        place=as_index(at[:-3]) if at[:-3] else "",
        rows="query",
        columns="key",
        first=first,
    )


def _axis_of_keys(expected: torch.Tensor) -> int | None:
    """Return the axis along which the reference's output sums to 1, as attention weights do; None if it does not."""
    if expected.dim() <= MATRIX or not bool((expected >= 0).all()):
        return None
    for keys in dict.fromkeys((expected.dim() - 1, 1)):
        sums = expected.sum(keys)
        if expected.size(keys) > 1 and bool((((sums - 1).abs() < ROUNDED) | (sums == 0)).all()) and bool(sums.any()):
            return keys
    return None


def _area(row: int, column: int) -> tuple[tuple[int, int], tuple[slice, slice]]:
    """Return the first row and column of a map around a cell, and the map's slices of the matrix."""
    top, left = max(0, row - LARGEST_MAP // 2), max(0, column - LARGEST_MAP // 2)
    return (top, left), (slice(top, top + LARGEST_MAP), slice(left, left + LARGEST_MAP))


def _size(gradient: torch.Tensor | None) -> float:
    largest = float(gradient.abs().max()) if gradient is not None and gradient.numel() else 0.0
    return 0.0 if largest < NEGLIGIBLE else largest


def place_of_largest(values: torch.Tensor) -> list[int]:
    """Return the index of the largest element, without `torch.unravel_index`, which imports sympy in 0.2 s."""
    place: list[int] = (values == values.max()).nonzero()[0].tolist()
    return place
