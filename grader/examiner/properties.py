"""The built-in properties: for each record of a check, what is done with subject and reference at one rung."""

from grader.examiner import (  # noqa: F401 - importing them registers what they define
    property_devices,
    property_dropout,
    property_leaks,
    property_manners,
    property_values,
)
from grader.examiner.bench import Bench, try_rung

__all__ = ["Bench", "try_rung"]
