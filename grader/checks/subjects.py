"""What stands between checks and a subject that is no module."""

from typing import Any

from grader.sandbox.protocol import Adapter
from grader.spec.interface import Interface


def adapter_of(interface: Interface) -> Adapter | None:
    """Return what makes a module of a submission's entry; None where it is a module itself."""
    probe = interface.kind.adapter_for(interface.function)
    return Adapter(probe, list(interface.inputs), not interface.keyword_only) if probe else None


def parts_of(interface: Interface, values: Any) -> list[str]:
    """Return a name for each of the values that an adapter returns; none where their numbers do."""
    return interface.kind.parts(list(interface.inputs), len(values)) if isinstance(values, tuple) else []
