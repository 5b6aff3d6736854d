"""The questions that a check asks the reference: to draw inputs, to build a module and to call its methods."""

from typing import Any

from msgspec import Struct


class DrawInputs(Struct, frozen=True, kw_only=True):
    """Draw the random inputs of a size case."""

    size_case: str


class BuildModule(Struct, frozen=True, kw_only=True):
    """Build a module with new weights."""

    arguments: dict[str, Any]
    dtype: str
    variation: str
    entry: str


class CallMethod(Struct, frozen=True, kw_only=True):
    """Call a method of a module that was built."""

    module: int
    """The module's number, in the order of building."""
    training: bool
    method: str
    """A method of `ModuleProxy`."""
    arguments: tuple[Any, ...] = ()
    """The positional arguments, with names in place of probes and numbers in place of other modules."""
    inputs: dict[str, Any] = {}
    """The keyword arguments."""


Question = DrawInputs | BuildModule | CallMethod
