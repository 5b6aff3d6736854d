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


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A submission's function or class, and how it takes its inputs."""

    call: Callable[..., Any]
    inputs: tuple[str, ...]
    by_position: bool
    """Whether inputs may also be passed by position."""
