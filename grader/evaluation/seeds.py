"""Seeds for training and for held-out evaluation: two disjoint sets."""

from enum import StrEnum

from grader.errors import UsageError

COUNT = 2**30
"""How many seeds each split has."""

STEP = 0x9E3779B1
"""An odd factor of the index: neighbouring indexes get distant seeds, and no two indexes get the same seed."""


class Split(StrEnum):
    """What a seed is for."""

    TRAINING = "training"
    HELD_OUT = "held_out"


def seed_of(split: Split | str, index: int) -> int:
    """Return the seed of an index from 0 to 2**30 - 1, for `grade` and for fresh hunts.

    Training seeds are even and held-out seeds are odd, so no seed is in both splits. Different indexes have different
    seeds.
    """
    if split not in tuple(Split):
        raise UsageError(f'split is {split!r}; use "training" or "held_out"')
    if not isinstance(index, int) or not 0 <= index < COUNT:
        raise UsageError(f"index is {index!r}; use a whole number from 0 to {COUNT - 1}")
    return index * STEP % COUNT * 2 + (split == Split.HELD_OUT)
