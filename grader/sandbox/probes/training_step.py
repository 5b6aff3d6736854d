"""Run a training step: call the student's function with a model, an optimizer and batches of the kit.

The first axis of each input is the step. Every other step gets its batch by position. The adapter records the
parameters, buffers and modes after every step, the returned values, and random numbers drawn afterwards. If `unused` is
true, the model has one more parameter, which gets no gradient.
"""

import copy
from collections.abc import Iterator
from typing import Any

import torch

from grader.sandbox.subject import Entry

HIDDEN = 8
SEED = 5
LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 0.1, 0.8, 0.01
"""The optimizer's settings. They differ from its defaults and from usual values, so that changes of them are seen."""


class Model(torch.nn.Module):
    """A model with everything that a step must handle: batch norm, dropout and, if requested, an unused parameter."""

    def __init__(self, width: int, outputs: int, *, unused: bool) -> None:
        super().__init__()
        self.first = torch.nn.Linear(width, HIDDEN)
        self.norm = torch.nn.BatchNorm1d(HIDDEN)
        self.drop = torch.nn.Dropout(0.5)
        self.last = torch.nn.Linear(HIDDEN, outputs)
        if unused:
            self.unused = torch.nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.last(self.drop(torch.tanh(self.norm(self.first(x)))))
        return output


class Adapter(torch.nn.Module):
    """Returns the model's state, the step's return values, the modes and the next random numbers, by step."""

    def __init__(
        self,
        entry: Entry,
        *,
        width: int = 6,
        outputs: int = 3,
        learning_rate: float = LEARNING_RATE,
        momentum: float = MOMENTUM,
        unused: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__()
        self.model = Model(width, outputs, unused=unused)
        self.entry, self.arguments = entry, arguments
        self.learning_rate, self.momentum = learning_rate, momentum

    def forward(self, *positional: Any, **inputs: Any) -> tuple[torch.Tensor, ...]:
        inputs = {**dict(zip(self.entry.inputs, positional, strict=False)), **inputs}
        steps = min(len(each) for each in inputs.values() if isinstance(each, torch.Tensor))
        with torch.inference_mode(mode=False), torch.enable_grad():
            model = copy.deepcopy(self.model).train(self.training)
            optimizer = torch.optim.SGD(
                model.parameters(),
                lr=self.learning_rate,
                momentum=self.momentum,
                weight_decay=WEIGHT_DECAY,
                nesterov=self.momentum > 0,
            )
            generator_state = torch.get_rng_state()
            torch.default_generator.manual_seed(SEED)
            states = []
            for step in range(steps):
                batch = {
                    name: each[step].detach() if isinstance(each, torch.Tensor) else each
                    for name, each in inputs.items()
                }
                if self.entry.by_position and step % 2:
                    returned = self.entry.call(model, optimizer, *batch.values(), **self.arguments)
                else:
                    returned = self.entry.call(model, optimizer, **batch, **self.arguments)
                states.append(_state(model, returned))
            torch.set_rng_state(generator_state)
        return tuple(torch.stack(of_steps) for of_steps in zip(*states, strict=False))


def _state(model: torch.nn.Module, returned: Any) -> list[torch.Tensor]:
    modes = torch.tensor([float(each.training) for each in model.modules()])
    state = {name: each for name, each in model.state_dict().items() if name != "unused"}
    values = [torch.as_tensor(each).detach().clone() for each in state.values()]
    values += [torch.as_tensor(each, dtype=torch.float64).detach().clone() for each in _numbers(returned)]
    return [*values, modes, torch.rand(2)]


def _numbers(returned: Any) -> Iterator[Any]:
    """Yield the numbers and tensors that a step returned, alone or in containers. Those of a dictionary come by key."""
    if isinstance(returned, int | float | torch.Tensor):
        yield returned
    elif isinstance(returned, dict):
        for name in sorted(returned, key=str):
            yield from _numbers(returned[name])
    elif isinstance(returned, tuple | list):
        for each in returned:
            yield from _numbers(each)
