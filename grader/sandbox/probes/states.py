"""Save and load a module's state dict."""

from typing import Any

import torch

from grader.sandbox.subject import Subject


def save(subject: Subject, inputs: dict[str, Any]) -> dict[str, torch.Tensor]:  # noqa: ARG001 - a probe's signature
    """Return a copy of the state dict."""
    return {str(name): value.detach().clone() for name, value in subject.module.state_dict().items()}


def load(subject: Subject, inputs: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Load the inputs as a state dict; return the state dict afterwards."""
    subject.module.load_state_dict(inputs)
    return save(subject, {})


def load_as_part(subject: Subject, inputs: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Load the inputs as the part of a larger model's state dict; return that part afterwards."""
    larger, prefix = torch.nn.Sequential(subject.module), "0."
    larger.load_state_dict({prefix + name: value for name, value in inputs.items()})
    return {name.removeprefix(prefix): value.detach().clone() for name, value in larger.state_dict().items()}
