"""Report the types of a module's layers."""

from typing import Any

import torch

from grader.sandbox.subject import Subject


def layer_type(subject: Subject, inputs: dict[str, Any], *, name: str, layer: str) -> str:  # noqa: ARG001 - the interface of probes
    """Return the type of an attribute, such as `attention.dropout`; empty if it is of torch's class `layer`."""
    part: Any = subject.module
    for each in name.split("."):
        part = getattr(part, each)
    return "" if not layer or isinstance(part, getattr(torch.nn, layer)) else type(part).__name__
