"""Every record of the kit is built by keyword."""

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import pytest
from msgspec import Struct

import grader

NOT_YET_CONVERTED = (
    "grader.author",
    "grader.checks",
    "grader.classroom",
    "grader.notebook",
    "grader.processes",
    "grader.report",
    "grader.sandbox",
    "grader.student",
)
"""Rooms and modules whose records still take positional arguments."""

MODULES = [
    module.name
    for module in pkgutil.walk_packages(grader.__path__, "grader.")
    if not module.name.endswith("__main__") and not module.name.startswith(NOT_YET_CONVERTED)
]


def records_of(module: str) -> Iterator[type]:
    """Yield the dataclasses, structs and named tuples that a module defines."""
    for value in vars(importlib.import_module(module)).values():
        is_record = dataclasses.is_dataclass(value) or hasattr(value, "_fields") or _is_struct(value)
        if isinstance(value, type) and value.__module__ == module and is_record:
            yield value


def _is_struct(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Struct)


@pytest.mark.parametrize("module", MODULES)
def test_records_take_keywords_alone(module):
    for record in records_of(module):
        parameters = inspect.signature(record).parameters.values()
        assert [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY] == [], record
