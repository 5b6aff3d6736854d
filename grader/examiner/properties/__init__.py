"""The built-in properties: for each record of a check, what is done with subject and reference at one rung."""

from grader.examiner.context import Context, try_rung
from grader.examiner.properties import (  # noqa: F401 - importing them registers what they define
    devices,
    dropout,
    leaks,
    side_effects,
    values,
)

__all__ = ["Context", "try_rung"]
