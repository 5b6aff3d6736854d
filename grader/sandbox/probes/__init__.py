"""Probes: code of the kit that runs beside a submission in its worker, or beside the reference in the examiner.

There are two kinds. A *probe function* takes a built `Subject`, the inputs of a call, and options. An *adapter* is the
class `Adapter` of its module. It turns a function or another class into a module: its `forward` runs an experiment, and
checks compare the results.

A worker imports all modules of this folder before it is confined. A probe contains nothing secret, and its answer is
trusted no more than the submission's own.
"""

import functools
import pkgutil
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from grader.sandbox.protocol import AdapterSpec
from grader.sandbox.subject import Entry

ProbeFunction = Callable[..., Any]

PROBES: dict[str, ModuleType] = {
    found.name: import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)
}


def name_of(probe: ProbeFunction) -> str:
    """Return the name by which `probe_named` finds a probe function."""
    return f"{probe.__module__.rpartition('.')[2]}.{probe.__name__}"


def probe_named(name: str) -> ProbeFunction:
    """Return the probe function `module.function`."""
    module, _, function = name.partition(".")
    probe: ProbeFunction = getattr(PROBES[module], function)
    return probe


def constructor(submission: ModuleType, entry: str, adapter: AdapterSpec | None) -> Callable[..., Any]:
    """Return the submission's class `entry`, or with an adapter a function that builds the adapter's module."""
    if adapter is None:
        own: Callable[..., Any] = vars(submission)[entry]
        return own

    def call(*positional: Any, **keywords: Any) -> Any:
        return getattr(submission, entry)(*positional, **keywords)

    given = Entry(call=call, inputs=tuple(adapter.inputs), by_position=adapter.by_position)
    return functools.partial(PROBES[adapter.module].Adapter, given)
