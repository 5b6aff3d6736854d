"""Covering arrays: few rows in which every two values of different axes occur together.

A fault often shows only in a combination: training mode with one head, or float64 with a mask. Random rows contain a
given pair only at some seeds; a covering array contains every pair in every run.
"""

from collections.abc import Callable, Sequence

Row = tuple[int, ...]
"""The number of a value on each axis."""

Fits = Callable[[int, int, int, int], bool]
"""Whether the values of two axes may be in one row: `fits(axis, value, other_axis, other_value)`."""


def covering_array(counts: Sequence[int], fits: Fits, first: Sequence[dict[int, int]] = ()) -> list[Row]:
    """Return rows in which every pair that fits occurs; `counts` has the number of values of each axis.

    The first rows complete the partial rows in `first`, which map axes to values. The result depends only on the
    arguments. Raise `ValueError` if a row of `first` cannot be completed.
    """
    array = _Array(counts, fits)
    for fixed in first:
        row = array.completed(fixed)
        if row is None:
            raise ValueError(f"no row that fits contains {fixed}")
        array.add(row)
    while array.uncovered:
        axis, value, other, others_value = pair = min(array.uncovered)
        row = array.completed({axis: value, other: others_value})
        if row is None:  # the two values fit each other, but no value of some other axis fits both
            array.uncovered.discard(pair)
        else:
            array.add(row)
    return array.rows


class _Array:
    """The rows so far, and the pairs that no row contains yet."""

    def __init__(self, counts: Sequence[int], fits: Fits) -> None:
        self.rows: list[Row] = []
        self._axes = sorted(range(len(counts)), key=lambda axis: -counts[axis])
        self._counts = counts
        self._fitting = {
            (axis, value, other, others_value)
            for axis in range(len(counts))
            for other in range(axis + 1, len(counts))
            for value in range(counts[axis])
            for others_value in range(counts[other])
            if fits(axis, value, other, others_value)
        }
        self.uncovered = set(self._fitting)

    def add(self, row: Row) -> None:
        """Add a row."""
        self.rows.append(row)
        for axis, value in enumerate(row):
            for other in range(axis + 1, len(row)):
                self.uncovered.discard((axis, value, other, row[other]))

    def completed(self, fixed: dict[int, int]) -> Row | None:
        """Return a row with the fixed values; choose the other values so that it covers many new pairs."""
        pairs = [_pair(axis, fixed[axis], other, fixed[other]) for axis in fixed for other in fixed if axis < other]
        if not self._fitting.issuperset(pairs):
            return None
        return self._filled(dict(fixed), [axis for axis in self._axes if axis not in fixed])

    def _filled(self, chosen: dict[int, int], axes: list[int]) -> Row | None:
        """Choose a value for each axis, trying values that cover many pairs first; return None if no choice fits."""
        if not axes:
            return tuple(chosen[axis] for axis in range(len(self._counts)))
        axis, *remaining = axes
        ranked = []
        for step in range(self._counts[axis]):
            value = (step + len(self.rows)) % self._counts[axis]  # so that ties are not always won by the same value
            pairs = [_pair(axis, value, other, others_value) for other, others_value in chosen.items()]
            if self._fitting.issuperset(pairs):
                ranked.append((-sum(pair in self.uncovered for pair in pairs), step, value))
        for _, _, value in sorted(ranked):
            row = self._filled({**chosen, axis: value}, remaining)
            if row is not None:
                return row
        return None


def _pair(axis: int, value: int, other: int, others_value: int) -> tuple[int, int, int, int]:
    return (axis, value, other, others_value) if axis < other else (other, others_value, axis, value)
