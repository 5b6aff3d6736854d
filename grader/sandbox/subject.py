"""The arguments of probes: a built module, or the function or class from which an adapter makes a module."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A built module, with the constructor and the arguments to build another."""

    module: torch.nn.Module
    build: Callable[..., torch.nn.Module]
    arguments: dict[str, Any]
    is_wrapped: bool = False
    """Whether the module is an adapter or a probe around the submission's own function or class."""

    def flags(self, module: torch.nn.Module) -> dict[str, bool]:
        """Return the flags that a call must not change: the mode of each part of a module, and which parameters require
        gradients. The parts of an adapter do not count.

        `module` is the subject's own module, or was made from it.
        """
        if self.is_wrapped:
            return {"training of the module": module.training}
        flags = {f"training of {name or 'the module'}": part.training for name, part in module.named_modules()}
        return flags | {f"requires_grad of {name}": each.requires_grad for name, each in module.named_parameters()}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A submission's function or class, and how it takes its inputs."""

    call: Callable[..., Any]
    inputs: tuple[str, ...]
    by_position: bool
    """Whether inputs may also be passed by position."""
