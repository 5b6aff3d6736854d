"""Kinds of subject that a description may name; what each is tried by stands in `examiner/subjects.py`."""

from enum import StrEnum


class Kind(StrEnum):
    """What a submission offers."""

    MODULE = "module"
    FUNCTION = "function"
    LOSS = "loss"
    OPTIMIZER = "optimizer"
    TRAINING_STEP = "training_step"
    DATASET = "dataset"

    def is_class(self) -> bool:
        """Whether it can be a class."""
        return self in (Kind.MODULE, Kind.LOSS, Kind.OPTIMIZER, Kind.DATASET)

    def is_function(self) -> bool:
        """Whether it can be a function."""
        return self in (Kind.FUNCTION, Kind.LOSS, Kind.TRAINING_STEP)
