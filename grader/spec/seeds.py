"""Seeds of random inputs: secret ones, and those that users give."""

import operator
import secrets
from typing import SupportsIndex

from grader.errors import UsageError

SEEDS = 2**31
"""The number of seeds. The largest is one less."""


def secret_seed() -> int:
    """Return a seed that nobody can guess."""
    return secrets.randbelow(SEEDS)


def require_seed(seed: SupportsIndex) -> int:
    """Return a seed as an `int`. It may be of any integer type, such as numpy's; otherwise raise `UsageError`."""
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if isinstance(seed, bool) or not 0 <= number < SEEDS:
        raise UsageError(f"seed is {seed!r}; use a whole number from 0 to {SEEDS - 1}")
    return number
