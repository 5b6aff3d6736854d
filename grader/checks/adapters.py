"""Adapters for subjects that are not modules."""

from typing import Any

from grader.sandbox.protocol import AdapterSpec
from grader.spec.interface import Interface
from grader.spec.kinds import Part


def adapter_of(interface: Interface) -> AdapterSpec | None:
    """Return the adapter that turns a submission's entry into a module; None if the entry is a module class."""
    module = interface.kind.adapter_for(interface.function)
    if not module:
        return None
    return AdapterSpec(module=module, inputs=list(interface.inputs), by_position=not interface.keyword_only)


def parts_of(interface: Interface, values: Any) -> list[Part]:
    """Return the parts of an adapter's value; none if their numbers suffice as names."""
    return interface.kind.parts(list(interface.inputs), len(values)) if isinstance(values, tuple) else []
