"""Exact confidence intervals for counts, by Clopper and Pearson."""

from collections.abc import Callable
from math import exp, lgamma, log

LEVEL = 0.95
STEPS = 60
"""Halvings of the interval in which a bound is searched: more than a float has bits."""


def clopper_pearson(count: int, total: int) -> tuple[float, float] | None:
    """Return the two-sided exact bounds of a share, from 0 to 1; None if there is nothing to count."""
    if not 0 <= count <= total:
        raise ValueError(f"{count} of {total} is not a valid count")
    if total == 0:
        return None
    tail = (1 - LEVEL) / 2
    lower = 0.0 if count == 0 else _root(lambda share: _at_least(count, total, share) - tail)
    upper = 1.0 if count == total else _root(lambda share: _at_least(count + 1, total, share) - (1 - tail))
    return lower, upper


def _root(function: Callable[[float], float]) -> float:
    """Return where an increasing function is zero, between 0 and 1."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _at_least(count: int, total: int, share: float) -> float:
    """Return the probability of at least `count` successes in `total` trials, if `share` is the probability of each."""
    if share <= 0 or share >= 1:
        return float(share >= 1 or count == 0)
    logs = (
        lgamma(total + 1) - lgamma(k + 1) - lgamma(total - k + 1) + k * log(share) + (total - k) * log(1 - share)
        for k in range(count, total + 1)
    )
    return min(1.0, sum(map(exp, logs)))
