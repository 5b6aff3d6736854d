"""Adapters for subjects that are not modules."""

from typing import Any

from grader.sandbox.protocol import Adapter
from grader.spec.interface import Interface


def adapter_of(interface: Interface) -> Adapter | None:
    """Return the adapter that makes a module of a submission's entry; None if the entry is a module class."""
    probe = interface.kind.adapter_for(interface.function)
    return (
        Adapter(probe=probe, inputs=list(interface.inputs), by_position=not interface.keyword_only) if probe else None
    )


def parts_of(interface: Interface, values: Any) -> list[str]:
    """Return a name for each value that an adapter returns; none if a number suffices."""
    return interface.kind.parts(list(interface.inputs), len(values)) if isinstance(values, tuple) else []
