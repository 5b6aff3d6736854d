"""The part of torch's import that may wait: what works on tensors without data, a quarter of the whole."""

import gc
import re
import sys
import types
from typing import Any

import torch

SIGNS_OF_USE = re.compile(
    r"Generator|DataLoader|meta|Meta|opaque|compile|export|trace|vmap|[Ff]ake|_prims|decomp|dispatch|except|optim|_dynamo"
    r"|partially initialized"
)
"""What code that needs it says, or torch says where it is missing; code that catches what torch says may need it."""


SIGNS_OF_TRAINING = re.compile(r"optim|_dynamo|torchinductor")
"""What code that trains says, or torch says where its compiler cannot be imported."""


def complete_torch_for(text: str) -> None:
    """Run what was left waiting, if this source text or error message shows that it is needed."""
    if SIGNS_OF_USE.search(text):
        complete_torch()
    if SIGNS_OF_TRAINING.search(text):
        _stand_in_for_compiler()


def _leave_alone(function: Any = None, *_arguments: object, **_options: object) -> Any:
    """A decorator, with or without arguments, that changes nothing."""
    return _leave_alone if function is None else function


def _stand_in_for_compiler() -> None:
    """Let optimizers take their steps: they ask torch's compiler to leave them alone, and importing it writes files."""
    stub = types.ModuleType("torch._dynamo")
    vars(stub).update(disable=_leave_alone, graph_break=lambda: None)
    if sys.modules.setdefault(stub.__name__, stub) is stub:
        vars(torch)["_dynamo"] = stub


def complete_torch() -> None:
    """Run what was left waiting."""
    if not is_complete():
        getattr(torch._meta_registrations, "activate_meta", None)  # noqa: SLF001 - asking for a name runs the module
        gc.freeze()


def is_complete() -> bool:
    """Whether nothing was left waiting."""
    return "_waiting_loader" not in vars(getattr(torch, "_meta_registrations", torch))
