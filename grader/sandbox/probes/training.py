"""Train a module for a few steps, as tests in tutorials do, and call it before training."""

from typing import Any

import torch

from grader.sandbox.subject import Subject
from grader.sandbox.values import first_output

STEP_LENGTH = 0.02
"""The length of each step, all parameters together."""


def descend(subject: Subject, inputs: dict[str, Any], *, steps: int) -> torch.Tensor:
    """Return the losses before and after each of some short steps of gradient descent on one batch."""
    parameters = [each for each in subject.module.parameters() if each.requires_grad]
    losses = []
    with torch.enable_grad():
        for _ in range(steps + 1):
            losses.append((first_output(subject.module(**inputs)) - 1.0).square().mean())
            gradients = torch.autograd.grad(losses[-1], parameters, allow_unused=True)
            moved = [(each, grad) for each, grad in zip(parameters, gradients, strict=True) if grad is not None]
            norm = sum(float(grad.square().sum()) for _, grad in moved) ** 0.5 or 1.0
            for each, grad in moved:
                each.data.sub_(STEP_LENGTH / norm * grad)
    return torch.stack(losses).detach()


def call_twice(subject: Subject, inputs: dict[str, Any]) -> list[torch.Tensor]:
    """Return the first outputs of two calls after the same seed."""
    outputs = []
    for _ in range(2):
        torch.default_generator.manual_seed(0)
        outputs.append(first_output(subject.module(**inputs)))
    return outputs


def call_in_inference_mode(subject: Subject, inputs: dict[str, Any], *, called: str) -> None:
    """Call the method `called`, or the module, under `inference_mode`."""
    with torch.inference_mode():
        (getattr(subject.module, called) if called else subject.module)(**inputs)
