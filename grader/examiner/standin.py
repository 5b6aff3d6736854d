"""What a check holds in its hand: the same small interface over a module in a worker and over the reference."""

from typing import Any, Protocol

import torch
from msgspec import Struct

Tensors = dict[str, torch.Tensor]


class Pass(Struct, frozen=True):
    """A forward and backward pass: what was returned, what it was weighted with, and gradients by name or None."""

    value: Any
    cotangents: list[torch.Tensor]
    parameters: dict[str, torch.Tensor | None]
    inputs: dict[str, torch.Tensor | None]


class StandIn(Protocol):
    """A module under a check: call it with keyword arguments, as in `module(x=tensor)`."""

    training: bool

    def __call__(self, **inputs: Any) -> Any:
        """What forward returns."""

    def call(self, method: str, **inputs: Any) -> Any:
        """What another method returns; an empty name means forward."""

    def repeat(self, times: int, **inputs: Any) -> list[Any]:
        """What so many calls of forward return, one after the other."""

    def differentiate(self, cotangents: list[torch.Tensor] | None, method: str = "", **inputs: Any) -> Pass:
        """Forward, then backward from the sum of outputs times cotangents; the reference may draw them itself."""

    def inputs_after(self) -> Tensors:
        """The last call's tensors as the call left them."""

    def weights(self) -> Tensors:
        """Parameters by name."""

    def attribute(self, name: str) -> Any:
        """The value of an attribute."""

    def printed(self) -> str:
        """What went to stdout since this was last asked."""

    def load_from(self, other: Any) -> None:
        """Load the state dict of another module of the same side."""


class Maker(Protocol):
    """Builds modules: `subject(num_heads=2, ...)`, or `reference(...)`."""

    def __call__(self, **arguments: Any) -> StandIn: ...

    def build(
        self,
        arguments: dict[str, Any],
        *,
        like: StandIn | None = None,
        dtype: str = "",
        probe: str = "",
        entry: str = "",
        at_once: bool = True,
    ) -> StandIn:
        """A module with `like`'s weights; `probe` is source run beside it, which may define another `entry` class.

        Unless it is built `at_once`, it is built when something is first asked of it.
        """


def flatten(value: Any) -> list[torch.Tensor]:
    """The tensors in a returned value, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in flatten(item)]
    return []
