"""Measure the effect of dropout on each weight of the reference, and on the gradients of a submission."""

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import dropout, scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from grader.sandbox.subject import Subject
from grader.sandbox.values import first_output

STEPS = (1e-5, 1e-3)
"""The lengths of steps along a direction.

In float64 a difference over the short step has a rounding error of about 1e-10. The step crosses the kink of one of a
hundred ReLUs with a probability of about 1e-3. The long step is for modules that compute a part in float32, as some do
for a softmax: their rounding error is about 1e-2 over the short step, and 1e-4 over the long one.
"""


class InsteadOfDropout(TorchFunctionMode):
    """Replaces dropout: returns the weights or `instead`, and records the weights and the probability of each call."""

    def __init__(self, instead: torch.Tensor | None = None) -> None:
        super().__init__()
        self.instead = instead
        self.calls: list[tuple[torch.Tensor, float]] = []

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any = (), keywords: Any = None
    ) -> Any:
        if function is dropout:
            function = self._drop
        elif function is scaled_dot_product_attention:
            function = self._attend
        return function(*arguments, **(keywords or {}))

    def _drop(
        self,
        weights: torch.Tensor,
        p: float = 0.5,
        training: bool = True,
        inplace: bool = False,  # noqa: ARG002 - torch's signature
    ) -> torch.Tensor:
        if not training or p == 0:
            return weights
        self.calls.append((weights, p))
        return weights if self.instead is None else self.instead

    def _attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **keywords: Any,
    ) -> torch.Tensor:
        every = torch.eye(key.shape[-2]).to(key).expand(*key.shape[:-1], -1)
        weights = scaled_dot_product_attention(query, key, every, attn_mask, 0.0, is_causal, **keywords)
        return self._drop(weights, dropout_p) @ value


def response(subject: Subject, inputs: dict[str, Any]) -> Any:
    """Return how the first output depends on the weights that dropout may drop. Return an error text unless dropout
    acts once.

    The result is a tuple: the outputs without dropout, the weights, the probability, the flat output (F) with all
    weights zero, and the contribution (W, F) of each of the W weights to the output.
    """

    def output(instead: torch.Tensor) -> torch.Tensor:
        with InsteadOfDropout(instead):
            return first_output(subject.module(**inputs)).flatten()

    with torch.no_grad():
        with InsteadOfDropout() as plain:
            value = subject.module(**inputs)
        if len(plain.calls) != 1:
            return f"expected dropout to act once in a call, but it acted {len(plain.calls)} times"
        weights, chance = plain.calls[0]
        base = output(torch.zeros_like(weights))
        ones = torch.eye(weights.numel()).to(weights)
        return value, weights, chance, base, torch.stack([output(one.view(weights.shape)) - base for one in ones])


def use_without_dropout(
    subject: Subject, inputs: dict[str, Any], *, sample_axes: dict[str, int], in_inference: bool
) -> None:
    """Call the module in ways that must not switch dropout off for good, and leave it in training mode: in evaluation
    mode without gradients, under `inference_mode` if `in_inference`, with one sample, and with each boolean argument
    inverted.

    `sample_axes` maps an input's name to the axis of its samples. Calls that raise are ignored.
    """
    module = subject.module
    for _ in range(2):
        module.eval()
    one_sample = {
        name: value.narrow(sample_axes[name], 0, 1) if name in sample_axes else value for name, value in inputs.items()
    }
    inverted = {name: not value if isinstance(value, bool) else value for name, value in inputs.items()}
    for given, is_inference in ((inputs, in_inference), (one_sample, False), (inverted, False)):
        with contextlib.suppress(Exception), torch.inference_mode(is_inference), torch.no_grad():
            module(**given)
    module.train()


def slopes(
    subject: Subject, inputs: dict[str, Any], *, most: int, enough: int, steepness: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return how the output with fixed dropout changes along random directions: measured, and by its gradient.

    Both results have the shape (directions). Directions are tried until `enough` of them agree, or `most` were tried.
    """
    module = subject.module.double()
    floats = {name: 3 * value.double() for name, value in inputs.items() if torch.is_floating_point(value)}
    rises: list[torch.Tensor] = []
    found: list[torch.Tensor] = []
    while len(rises) < most and _count_agreeing(rises, found, steepness) < enough:
        steps = {name: torch.randn_like(value) for name, value in floats.items()}
        generator_state = torch.get_rng_state()

        def output(length: float) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
            torch.set_rng_state(generator_state)  # noqa: B023 - called before the next direction
            leaves = {name: (value + length * steps[name]).requires_grad_() for name, value in floats.items()}  # noqa: B023 - called at once
            return first_output(module(**{**inputs, **leaves})), leaves

        value, leaves = output(0.0)
        cotangent = torch.randn_like(value)
        (value * cotangent).sum().backward()  # type: ignore[no-untyped-call]  # checkpoints refuse torch.autograd.grad
        gradients = {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
        terms = ((each * steps[name]).sum() for name, each in gradients.items())
        found.append(sum(terms, torch.zeros(()).double()))
        rises.append(_nearest_rise(lambda length: (output(length)[0] * cotangent).sum().detach(), found[-1], steepness))  # noqa: B023 - called at once
    return torch.stack(rises), torch.stack(found)


def _nearest_rise(value: Callable[[float], torch.Tensor], slope: torch.Tensor, steepness: float) -> torch.Tensor:
    """Return the measured slope over the first step that agrees with the gradient, or else over the short step."""
    rises = []
    for step in STEPS:
        rises.append((value(step) - value(-step)) / (2 * step))
        if _agrees(rises[-1], slope, steepness):
            return rises[-1]
    return rises[0]


def _agrees(rise: torch.Tensor, slope: torch.Tensor, steepness: float) -> bool:
    return bool((rise - slope).abs() <= steepness * rise.abs())


def _count_agreeing(rises: list[torch.Tensor], found: list[torch.Tensor], steepness: float) -> int:
    return sum(_agrees(rise, slope, steepness) for rise, slope in zip(rises, found, strict=True))
