"""The lines that the benchmark prints: medians with their ranges, and ratios within one run beside their targets."""

import statistics
from collections.abc import Sequence

from msgspec import Struct

NAME_WIDTH = 58


class Target(Struct, frozen=True, kw_only=True):
    """The target of a ratio: an upper or a lower limit."""

    bound: float
    is_least: bool = False

    def is_met(self, ratio: float) -> bool:
        return ratio >= self.bound if self.is_least else ratio <= self.bound

    def __str__(self) -> str:
        return f"{'>=' if self.is_least else '<='} {self.bound:.2f}"


class CannotRunError(Exception):
    """A part of the benchmark cannot run here; the message is the reason."""


def measured(name: str, values: Sequence[float], unit: str) -> str:
    """Return a line about repeated measurements."""
    return f"{name:<{NAME_WIDTH}} {spread(values)} {unit}"


def compared(name: str, ours: Sequence[float], theirs: Sequence[float], target: Target | None = None) -> str:
    """Return a line about the ratios of our figures to theirs, pair by pair of the same run."""
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    verdict = ""
    if target is not None:
        verdict = f"   target {target}: {'met' if target.is_met(statistics.median(ratios)) else 'NOT MET'}"
    return f"{name:<{NAME_WIDTH}} {spread(ratios)}{verdict}"


def headline(title: str, about: str) -> str:
    """Return the heading of a part."""
    return f"\n{title}\n{about}"


def spread(values: Sequence[float]) -> str:
    """Return the median with the smallest and the largest value in brackets."""
    return f"{_number(statistics.median(values))} ({_number(min(values))} to {_number(max(values))})"


def _number(value: float) -> str:
    """Return a number with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
