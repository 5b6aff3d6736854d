"""Call a module where torch's default dtype is float64, as in a program that computes in float64 throughout."""

import contextlib
from typing import Any

import torch

from grader.sandbox.subject import Subject


def after_a_call_in_float64(subject: Subject, inputs: dict[str, Any], *, called: str) -> str:
    """Return torch's default dtype after another module was built, and it or its method `called` was called, where the
    default dtype was float64. Ignore errors: other checks report modules that fail in float64.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with contextlib.suppress(Exception):
            module = subject.build(**subject.arguments)
            (getattr(module, called) if called else module)(**inputs)
        return str(torch.get_default_dtype())
    finally:
        torch.set_default_dtype(before)
