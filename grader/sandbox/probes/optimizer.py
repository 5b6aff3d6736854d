"""Run an optimizer: record the parameters after each step, and again with its state dict reloaded halfway.

The inputs are the initial parameters, and `steps` is the number of steps. If `closure` is true, every other step gets a
closure, and the returned values are recorded too. Gradients are computed from the parameters: signs and sizes change
from step to step; some are tiny, some above any limit for clipping. One parameter gets no gradient.
"""

from collections.abc import Iterable
from typing import Any

import torch

from grader.sandbox.subject import Entry

TINY, TINY_EVERY = 1e-8, 3
"""Every third gradient is so small that the optimizer's epsilon matters."""

DECADES, GOLDEN = 3, 0.6180339887498949
"""Gradients vary in size by this many powers of ten, in an irregular order."""

SLOPES = 4
"""Steeper gradients would amplify rounding errors from step to step."""


class Adapter(torch.nn.Module):
    """Returns each parameter, stacked over steps, from a plain run and from a run that reloads the state halfway."""

    def __init__(self, entry: Entry, *, steps: int = 4, closure: bool = False, **arguments: Any) -> None:
        super().__init__()
        self.entry, self.steps, self.closure, self.arguments = entry, steps, closure, arguments
        self.scales: dict[tuple[int, int], torch.Tensor] = {}
        """The scales of gradients by parameter and step, equal in both runs."""

    def forward(self, *positional: torch.Tensor, **inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        starts = {**dict(zip(self.entry.inputs, positional, strict=False)), **inputs}.values()
        self.scales = {}
        straight, losses = self._walk(starts, reloads=False)
        reloaded, reloaded_losses = self._walk(starts, reloads=True)
        returned = [torch.tensor([*losses, *reloaded_losses])] if self.closure else []
        return (*straight, *reloaded, *returned)

    def _walk(self, starts: Iterable[torch.Tensor], *, reloads: bool) -> tuple[list[torch.Tensor], list[float]]:
        with torch.inference_mode(mode=False), torch.enable_grad():
            parameters = [torch.nn.Parameter(each.detach().clone()) for each in starts]
            unused = torch.nn.Parameter(torch.ones(2, dtype=parameters[0].dtype))
            optimizer = self.entry.call([*parameters, unused], **self.arguments)
            values = [[each.detach().clone() for each in (*parameters, unused)]]
            losses = []
            for step in range(self.steps):
                if reloads and step == self.steps // 2:
                    other = self.entry.call([*parameters, unused], **self.arguments)
                    other.load_state_dict(optimizer.state_dict())
                    optimizer = other
                if self.closure:
                    losses.append(self._step_with_closure(optimizer, parameters, step))
                else:
                    self._give_gradients(parameters, step)
                    optimizer.step()
                values.append([each.detach().clone() for each in (*parameters, unused)])
        return [torch.stack(of_steps) for of_steps in zip(*values, strict=True)], losses

    def _give_gradients(self, parameters: list[torch.nn.Parameter], step: int) -> None:
        for index, each in enumerate(parameters):
            if (index, step) not in self.scales:
                self.scales[index, step] = _scale(index, each, step)
            each.grad = (torch.sin(each.detach() * (1 + step % SLOPES)) + 0.1 * step) * self.scales[index, step]
            each.grad.view(-1)[::TINY_EVERY] *= TINY

    def _step_with_closure(self, optimizer: Any, parameters: list[torch.nn.Parameter], step: int) -> float:
        """Make a step, every other time with a closure. Return the step's value as a number."""

        def closure() -> torch.Tensor:
            self._give_gradients(parameters, step)
            return torch.tensor(step + 0.5 * torch.is_grad_enabled())

        if step % 2:
            loss = optimizer.step(closure)
            return float("nan") if loss is None else float(loss)
        self._give_gradients(parameters, step)
        return -1.0 if optimizer.step() is None else -2.0


def _scale(index: int, parameter: torch.Tensor, step: int) -> torch.Tensor:
    places = torch.arange(parameter.numel(), dtype=torch.float64).view(parameter.shape)
    sizes = 10.0 ** (-DECADES * ((places + 1) * (step + 1) * GOLDEN % 1.0))
    signs = torch.where((7 * places + 3 * step) % 5 <= 1, -1.0, 1.0)
    return (signs * sizes).to(parameter.dtype) * 10.0 ** (3 * (index % 3) - 1)
