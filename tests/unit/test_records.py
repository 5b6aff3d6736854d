"""Every record of the kit is frozen and built by keyword."""

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import pytest
from msgspec import Struct

import grader

FRAMEWORKS = "grader.evaluation.environments."
"""Modules that subclass the models of optional frameworks, which change as the frameworks require."""

MODULES = [
    module.name
    for module in pkgutil.walk_packages(grader.__path__, "grader.")
    if not module.name.endswith("__main__")
    and (not module.name.startswith(FRAMEWORKS) or module.name.endswith("questions"))
]

STATEFUL = (
    "grader.classroom.layouts.archives.UnpackingBudget",
    "grader.classroom.run.Progress",
    "grader.processes.worker_source._PendingRequest",
    "grader.processes.worker_source._PendingWorker",
)
"""Classes that change while a batch or a process runs: they use a record's constructor, and are not records."""


def records_of(module: str) -> Iterator[type]:
    """Yield the dataclasses, structs and named tuples that a module defines."""
    for value in vars(importlib.import_module(module)).values():
        if isinstance(value, type) and value.__module__ == module and _is_record(value):
            yield value


def _is_record(value: type) -> bool:
    return "__dataclass_fields__" in vars(value) or issubclass(value, Struct) or hasattr(value, "_fields")


def _is_frozen(record: type) -> bool:
    if issubclass(record, Struct):
        return record.__struct_config__.frozen
    return record.__dataclass_params__.frozen if dataclasses.is_dataclass(record) else issubclass(record, tuple)


@pytest.mark.parametrize("module", MODULES)
def test_records_take_keywords_alone(module):
    for record in records_of(module):
        parameters = inspect.signature(record).parameters.values()
        assert [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY] == [], record


@pytest.mark.parametrize("module", MODULES)
def test_records_are_frozen(module):
    changing = [record.__name__ for record in records_of(module) if not _is_frozen(record)]
    assert [name for name in changing if f"{module}.{name}" not in STATEFUL] == []


@pytest.mark.parametrize("name", STATEFUL)
def test_no_exception_outlives_its_class(name):
    module, _, record = name.rpartition(".")
    assert not _is_frozen(getattr(importlib.import_module(module), record))
