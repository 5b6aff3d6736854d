"""Find the random numbers that gave a check its inputs and weights, so that a script can draw them again.

This runs in the student's own process, because only building the student's modules shows which weights a seed gives.
"""

import contextlib
import io
import itertools
import os
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

import torch

from grader.checks.reference import import_variation
from grader.sandbox.calling_variants import LARGE_SCALE
from grader.sandbox.probes import constructor
from grader.sandbox.protocol import AdapterSpec
from grader.sandbox.values import WORKER_SEED, copy_parameters, to_python
from grader.student.replay import BuiltModule


class Draws:
    """Follows torch's generator through a script, from one input or module to the next."""

    def __init__(self, seeds: Sequence[int], module: ModuleType, adapter: AdapterSpec | None) -> None:
        self._seeds = seeds
        self._module = module
        self._adapter = adapter
        self._stream: torch.Tensor | None = None
        """The state of the generator after the draws so far; None unless the check's seed gave them."""
        self._random_inputs: list[torch.Tensor] = []
        """The inputs that the check's seed gave."""

    def draw_of(self, tensor: torch.Tensor) -> tuple[int | None, str] | None:
        """Return the seed and the call that draw the tensor. A seed of None means that the draws after the last seed
        continue. Return None if no seed gives the tensor.
        """
        if not tensor.is_floating_point() or not tensor.numel():
            return None
        dtype = "" if tensor.dtype is torch.float32 else f".to({tensor.dtype})"
        for seed in ([None] if self._stream is not None else []) + [*self._seeds]:
            generator = torch.Generator()
            if seed is None:
                assert self._stream is not None
                generator.set_state(self._stream)
            else:
                generator.manual_seed(seed)
            for before, factor in itertools.product(range(1 if seed is None else 3), (1, LARGE_SCALE, 400)):
                if factor == 1:  # draw once: the other factors scale the same numbers
                    random = torch.randn(tensor.shape, generator=generator)
                if torch.equal((random * factor).to(tensor.dtype), tensor):
                    self._stream = generator.get_state()
                    self._random_inputs.append(tensor)
                    times = f" * {factor:g}" if factor != 1 else ""
                    code = f"torch.randn({', '.join(map(str, tensor.shape))})"
                    code = f"[{code} for _ in range({before + 1})][-1]" if before else code
                    return seed, f"({code}{times}){dtype}" if dtype and times else f"{code}{times}{dtype}"
        return None

    def further_inputs(self, step: BuiltModule) -> list[tuple[int, ...]]:
        """Return the shapes of the inputs of calling variants that the check drew before it built this module.

        The script must draw them too. Return no shapes if the check drew none.
        """
        shapes = [tuple(each.shape) for each in self._random_inputs]
        if self._stream is None or step.parameters is None or not shapes:
            return []
        generator, before = torch.Generator(), self._stream
        generator.set_state(before)
        for shape in shapes * 2:
            torch.randn(shape, generator=generator)
        built = self._built(step, None)
        missing = len(step.parameters) if built is None else len(_other_weights(built, step))
        self._stream = generator.get_state()
        built = self._built(step, None)
        if built is None or len(_other_weights(built, step)) >= missing:
            self._stream = before
            return []
        return shapes

    def weights(self, step: BuiltModule, *, needs_values: bool) -> tuple[int | None, dict[str, torch.Tensor]]:
        """Return the seed to set before building the module, or None, and the weights that building does not give.

        Unless the script `needs_values`, any weights will do.
        """
        if step.parameters is not None and self._stream is not None:
            built = self._built(step, None)
            missing = None if built is None else _other_weights(built, step)
            if missing is not None and len(missing) < len(step.parameters):
                self._stream = None
                return None, missing
        self._stream = None
        if not needs_values:
            return WORKER_SEED, {}
        built = self._built(step, WORKER_SEED)
        return WORKER_SEED, {} if built is None else _other_weights(built, step)

    def _built(self, step: BuiltModule, seed: int | None) -> torch.nn.Module | None:
        """Return the student's module, built without output; None if it cannot be built."""
        state = torch.get_rng_state()
        if seed is not None:
            torch.manual_seed(seed)
        elif self._stream is not None:
            torch.set_rng_state(self._stream)
        try:
            with silent():
                if step.variation:
                    built = vars(import_variation(step.variation, self._module))[step.entry]
                else:
                    built = constructor(self._module, step.entry, self._adapter)
                arguments = {name: to_python(value) for name, value in step.arguments.items()}
                module: torch.nn.Module = built(**arguments)
                return module.to(getattr(torch, step.dtype)) if step.dtype else module
        except BaseException:  # noqa: BLE001 - the script shows the student's error
            return None
        finally:
            torch.set_rng_state(state)


def _other_weights(module: torch.nn.Module, step: BuiltModule) -> dict[str, torch.Tensor]:
    """Return the check's weights that differ from those of the module after it was built."""
    own = dict(module.named_parameters())
    before = {name: each.detach().clone() for name, each in own.items()}
    copy_parameters(own, step.parameters or {})
    return {name: each.detach() for name, each in own.items() if not torch.equal(each, before[name])}


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Hide what the student's code prints in the block, and let `breakpoint()` and `input()` not wait."""
    hook, stdin = sys.breakpointhook, sys.stdin
    sys.breakpointhook = lambda *_arguments, **_keywords: None
    with contextlib.redirect_stdout(io.StringIO()), open(os.devnull, encoding="utf-8") as nothing:
        sys.stdin = nothing
        try:
            yield
        finally:
            sys.breakpointhook, sys.stdin = hook, stdin
