"""Call a module in a calling variant, and check that the call leaves the module's mode as it was."""

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from grader.sandbox.subject import Subject

CANNOT_COPY = ("deepcopy protocol", "cannot pickle")
"""Parts of the messages of a copy that fails for something that nobody can copy, such as a lock."""


def call_in_variant(
    subject: Subject,
    inputs: dict[str, Any],
    *,
    words: list[str],
    method: str,
    by_position: list[str],
    sample_axes: dict[str, int],
) -> Any:
    """Return what the method returns in the calling variant.

    `by_position` names the inputs that are given by position; `sample_axes` gives the axis of the samples in inputs
    that have one.
    """
    module = _with_history(subject, words, method, inputs)
    if "double" in words:
        inputs = {
            name: value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
            for name, value in inputs.items()
        }
    inputs = {name: _laid_out(value, words, sample_axes.get(name)) for name, value in inputs.items()}
    if "shared" in words:
        inputs = {name: _first_equal(value, inputs.values()) for name, value in inputs.items()}
    function = getattr(module, method) if method else module

    def call() -> Any:
        by_name = {name: value for name, value in inputs.items() if name not in by_position}
        with _gradient_mode(words):
            return function(*(inputs[name] for name in by_position), **by_name)

    if "again" in words:
        _call_with_others(module, inputs, call)
    mode_before = module.training
    own = [] if module is subject.module else [*subject.module.parameters()]  # a module made of it must not need it
    with _overwritten(own, list(map(torch.zeros_like, own))):
        value = call()
    if module.training != mode_before:
        raise RuntimeError(f"the call left the module's training as {module.training}, which was {mode_before}")
    return value


def _with_history(subject: Subject, words: list[str], method: str, inputs: dict[str, Any]) -> torch.nn.Module:
    """Return the module with the variant's history: rebuilt, reloaded, copied, switched to and fro, or as it is."""
    module = subject.module
    if not {"reloaded", "rebuilt", "double"}.isdisjoint(words):
        arguments = subject.arguments
        other = subject.build(*arguments.values()) if "rebuilt" in words else subject.build(**arguments)
        state = module.state_dict()
        zeros = {name: value * 0 if isinstance(value, torch.Tensor) else value for name, value in state.items()}
        for checkpoint in (zeros, state):  # what is loaded last counts
            other.load_state_dict(checkpoint)
        other.train(module.training)
        return other.double() if "double" in words else other
    if "modes" in words:
        mode_before = module.training
        for mode in (not mode_before, mode_before):
            module.train(mode)
            (getattr(module, method) if method else module)(**inputs)
    if "copied" in words:
        try:
            return copy.deepcopy(module)
        except (RuntimeError, TypeError) as error:
            if not any(text in str(error) for text in CANNOT_COPY):
                raise
    return module


def _gradient_mode(words: list[str]) -> contextlib.AbstractContextManager[Any]:
    if "inference_mode" in words:
        return torch.inference_mode()
    return torch.no_grad() if "no_grad" in words else contextlib.nullcontext()


def _laid_out(value: Any, words: list[str], sample_axis: int | None) -> Any:
    if not isinstance(value, torch.Tensor) or value.dim() < 2:  # noqa: PLR2004 - nothing to transpose
        return value
    if "expanded" in words:
        return value if sample_axis is None else value.narrow(sample_axis, 0, 1).expand(value.shape)
    return value.transpose(0, -1).contiguous().transpose(0, -1) if "transposed" in words else value


def _first_equal(value: Any, others: Iterable[Any]) -> Any:
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    return next((other for other in others if isinstance(other, torch.Tensor) and torch.equal(other, value)), value)


def _call_with_others(module: torch.nn.Module, inputs: dict[str, Any], call: Callable[[], Any]) -> None:
    """Call the module twice with other values in the same tensors: in inputs and weights, then in weights alone."""
    tensors = [value for value in inputs.values() if isinstance(value, torch.Tensor) and value.dim()]
    rolled = [value for value in tensors if value.is_floating_point() or _lies_in_unit_interval(value)]
    others = [value.detach().roll(1, -1) for value in rolled]
    weights = [*module.parameters()]  # rolled as well, products of weights and inputs would stay as they were
    ramped = list(map(_ramped, weights))
    for values, replacements in ((rolled + weights, others + ramped), (weights, ramped)):  # a cache may know the inputs
        with _overwritten(values, replacements), contextlib.suppress(Exception):
            call()


def _ramped(value: torch.Tensor) -> torch.Tensor:
    """Return weights that point elsewhere: smaller ones would leave a softmax of large scores as it was."""
    return value.detach() * torch.linspace(-1.0, 0.5, value.numel(), dtype=value.dtype).view(value.shape)


def _lies_in_unit_interval(value: torch.Tensor) -> bool:
    return value.dtype == torch.bool or (value.numel() > 0 and bool(value.min() >= 0) and bool(value.max() <= 1))


@contextlib.contextmanager
def _overwritten(tensors: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> Iterator[None]:
    """Hold other values in the tensors for a while."""
    originals = [value.detach().clone() for value in tensors]
    _write(tensors, others)
    try:
        yield
    finally:
        _write(tensors, originals)


def _write(tensors: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> None:
    with torch.no_grad():
        for tensor, other in zip(tensors, others, strict=False):
            target, source = tensor, other
            for axis, step in enumerate(tensor.stride()):
                if step == 0:  # one sample expanded to all is written to once
                    target, source = target.narrow(axis, 0, 1), source.narrow(axis, 0, 1)
            with contextlib.suppress(RuntimeError):
                target.copy_(source)
