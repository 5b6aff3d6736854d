"""What the benchmark prints: medians with their smallest and largest, ratios within one run beside their targets."""

import statistics
from collections.abc import Sequence

from msgspec import Struct

NAME_WIDTH = 58


class Target(Struct, frozen=True):
    """The target of a ratio: an upper or a lower limit."""

    bound: float
    is_least: bool = False

    def is_met(self, ratio: float) -> bool:
        return ratio >= self.bound if self.is_least else ratio <= self.bound

    def __str__(self) -> str:
        return f"{'>=' if self.is_least else '<='} {self.bound:.2f}"


class CannotRunError(Exception):
    """Something that was to be measured cannot be, here; the message says why."""


def measured(name: str, values: Sequence[float], unit: str) -> str:
    """A line about something measured some times."""
    return f"{name:<{NAME_WIDTH}} {spread(values)} {unit}"


def compared(name: str, ours: Sequence[float], theirs: Sequence[float], target: Target | None = None) -> str:
    """A line about ours by theirs, each pair from the same run."""
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    verdict = ""
    if target is not None:
        verdict = f"   target {target}: {'met' if target.is_met(statistics.median(ratios)) else 'NOT MET'}"
    return f"{name:<{NAME_WIDTH}} {spread(ratios)}{verdict}"


def headline(title: str, about: str) -> str:
    """The beginning of a part."""
    return f"\n{title}\n{about}"


def spread(values: Sequence[float]) -> str:
    """The median, and in brackets the smallest and the largest."""
    return f"{_number(statistics.median(values))} ({_number(min(values))} to {_number(max(values))})"


def _number(value: float) -> str:
    """Three digits that matter."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
