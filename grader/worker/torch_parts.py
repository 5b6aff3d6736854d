"""The part of torch's import that may wait: what works on tensors without data, a quarter of the whole."""

import gc
import re

import torch

SIGNS_OF_USE = re.compile(
    r"Generator|DataLoader|meta|Meta|opaque|compile|export|trace|vmap|[Ff]ake|_prims|decomp|dispatch|except"
)
"""What code that needs it says, or torch says where it is missing; code that catches what torch says may need it."""


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
