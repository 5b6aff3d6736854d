"""The parts of torch that a worker does not have from the start: one may wait, and one is stood in for.

What may wait is what works on tensors without data, a quarter of torch's import. The compiler is never imported: that
takes a second and writes files, which a worker may not. Code that compiles runs as it stands, with the same values.
"""

import gc
import re
import sys
import types
from typing import Any

import torch

SIGNS_OF_USE = re.compile(
    "Generator|DataLoader|meta|Meta|opaque|export|trace|vmap|[Ff]ake|_prims|decomp|dispatch|partially initialized"
)
"""What code that needs it says, or torch says where it is missing."""


def complete_torch_for(text: str) -> None:
    """Run what was left waiting, if this source text or error message shows that it is needed."""
    if SIGNS_OF_USE.search(text):
        complete_torch()


def complete_torch() -> None:
    """Run what was left waiting."""
    if not is_complete():
        getattr(torch._meta_registrations, "activate_meta", None)  # noqa: SLF001 - asking for a name runs the module
        gc.freeze()


def is_complete() -> bool:
    """Whether nothing was left waiting."""
    return "_waiting_loader" not in vars(getattr(torch, "_meta_registrations", torch))


class _Compiler(types.ModuleType):
    """What torch asks of `torch._dynamo` where it compiles nothing: decorators that leave functions alone."""

    config = types.SimpleNamespace(error_on_nested_fx_trace=False)
    """Its settings: checkpointing reads one, submissions may set any."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _leave_alone


def stub_compiler() -> None:
    """Let code run that compiles, and what asks the compiler to leave it alone: optimizers, tensors without data."""
    stand_in = _Compiler("torch._dynamo")
    sys.modules[stand_in.__name__] = stand_in
    vars(torch).update(_dynamo=stand_in, compile=_leave_alone)


def _leave_alone(function: Any = None, *_arguments: object, **_options: object) -> Any:
    """A decorator, with or without arguments, that changes nothing."""
    return _leave_alone if function is None else function
