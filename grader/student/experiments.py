"""Experiments: how a script repeats what an adapter does with a subject that is no module, without the kit.

`EXPERIMENTS` has a class for each adapter that scripts write out. A script imports any other adapter from the kit.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import torch
from msgspec import Struct

from grader.sandbox.probes import optimizer, training_step
from grader.sandbox.protocol import TensorValue
from grader.sandbox.values import to_python
from grader.student.literals import literal
from grader.student.replay import Expression, MadeCall

HISTORY = "[torch.stack(each) for each in zip(*history)]"
"""The value of an experiment that records the same tensors after each step."""


class ExperimentCall(Struct, frozen=True, kw_only=True):
    """A call of an adapter, as a script repeats it."""

    call: MadeCall
    entry: str
    """The name of the student's class or function."""
    inputs: dict[str, str]
    """The inputs of the call, as expressions."""
    constructor: dict[str, Any]
    """The arguments with which the adapter was built."""
    parameters: dict[str, TensorValue]
    """The weights that the adapter was given."""
    observed: Expression | None
    """What the failed comparison is about."""


class Experiment(ABC):
    """How a script does what an adapter does."""

    imports: ClassVar[tuple[str, ...]] = ()
    prints_value: ClassVar[bool] = False

    def can_repeat(self, constructor: Mapping[str, Any]) -> bool:
        """Return whether a script can do what the adapter does, if it is built with these arguments."""
        return True

    @abstractmethod
    def lines(self, made: ExperimentCall) -> Iterator[str]:
        """Yield the lines before the call's value."""

    @abstractmethod
    def value(self, made: ExperimentCall) -> str:
        """Return the expression of the call's value."""

    def index(self, call: MadeCall, observed: Expression | None, item: int) -> int:
        """Return where the script's value has an item of the adapter's value."""
        return item


class FunctionExperiment(Experiment):
    """A call of a function."""

    prints_value = True

    def lines(self, made: ExperimentCall) -> Iterator[str]:
        yield from ()

    def value(self, made: ExperimentCall) -> str:
        arguments = made.inputs | {name: repr(each) for name, each in made.constructor.items()}
        return f"{made.entry}({', '.join(f'{name}={each}' for name, each in arguments.items())})"


class OptimizerExperiment(Experiment):
    """The steps of an optimizer.

    The adapter's values are those of a plain run and of a run that reloads the state. A script shows only the run that
    the comparison is about.
    """

    def can_repeat(self, constructor: Mapping[str, Any]) -> bool:
        return not constructor.get("closure")

    def lines(self, made: ExperimentCall) -> Iterator[str]:
        arguments = dict(made.constructor)
        steps = arguments.pop("steps", 4)
        arguments.pop("closure", None)
        starts = [to_python(each) for each in made.call.arguments.values()]
        scales = [[_scales(index, each, step) for index, each in enumerate(starts)] for step in range(steps)]
        listed = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        built = f"{made.entry}([*parameters, unused], {listed})"
        yield f"parameters = [torch.nn.Parameter(each.clone()) for each in ({', '.join(made.inputs.values())},)]"
        yield "unused = torch.nn.Parameter(torch.ones(2))  # gets no gradient"
        yield f"optimizer = {built}"
        yield "history = [[each.detach().clone() for each in (*parameters, unused)]]"
        yield f"scales = [{', '.join('[' + ', '.join(literal(each) for each in row) + ']' for row in scales)}]"
        yield f"for step in range({steps}):"
        if _is_about_second_run(made.call, made.observed):
            yield f"    if step == {steps // 2}:  # another optimizer loads the state"
            yield f"        state, optimizer = optimizer.state_dict(), {built}"
            yield "        optimizer.load_state_dict(state)"
        yield "    for each, scale in zip(parameters, scales[step]):"
        slopes = optimizer.SLOPES
        yield f"        each.grad = (torch.sin(each.detach() * (1 + step % {slopes})) + 0.1 * step) * scale"
        yield "    optimizer.step()"
        yield "    history.append([each.detach().clone() for each in (*parameters, unused)])"

    def value(self, made: ExperimentCall) -> str:
        return HISTORY

    def index(self, call: MadeCall, observed: Expression | None, item: int) -> int:
        return item - (_values_of_run(call) if _is_about_second_run(call, observed) else 0)


class TrainingStepExperiment(Experiment):
    """Training steps with a model and an optimizer.

    The adapter's values are the model's state and then what the steps return. A script records the latter only if the
    comparison is about them.
    """

    imports = ("from collections import OrderedDict",)

    def lines(self, made: ExperimentCall) -> Iterator[str]:
        arguments = dict(made.constructor)
        width, outputs = arguments.pop("width", 6), arguments.pop("outputs", 3)
        rate = arguments.pop("learning_rate", training_step.LEARNING_RATE)
        momentum = arguments.pop("momentum", training_step.MOMENTUM)
        unused = arguments.pop("unused", False)
        hidden = training_step.HIDDEN
        tensors = {name: each for name, each in made.call.arguments.items() if isinstance(each, TensorValue)}
        steps = min(to_python(each).size(0) for each in tensors.values())
        first, last = f"first=torch.nn.Linear({width}, {hidden})", f"last=torch.nn.Linear({hidden}, {outputs})"
        norm, drop = f"norm=torch.nn.BatchNorm1d({hidden})", "tanh=torch.nn.Tanh(), drop=torch.nn.Dropout(0.5)"
        yield f"model = torch.nn.Sequential(OrderedDict({first}, {norm}, {drop}, {last}))"
        if unused:
            yield "model.unused = torch.nn.Parameter(torch.ones(2))"
        for name, value in made.parameters.items():
            own = name.removeprefix("model.")
            yield f"model.get_parameter({own!r}).data = {literal(to_python(value))}"
        yield f"model.train({made.call.training})"
        settings = f"lr={rate}, momentum={momentum}, weight_decay={training_step.WEIGHT_DECAY}, nesterov={momentum > 0}"
        yield f"optimizer = torch.optim.SGD(model.parameters(), {settings})"
        yield f"torch.manual_seed({training_step.SEED})"
        is_about_state = _is_about_state(made.observed)
        if not is_about_state:
            yield "from collections.abc import Iterator"
            yield "from typing import Any"
            yield from inspect.getsource(training_step._numbers).splitlines()  # noqa: SLF001 - as in `_scales`
        yield "history = []"
        yield f"for number in range({steps}):"  # the function may be called step
        batch = ", ".join(f"{name}={each}{'[number]' * (name in tensors)}" for name, each in made.inputs.items())
        listed = "".join(f", {name}={value!r}" for name, value in arguments.items())
        yield f"    returned = {made.entry}(model, optimizer, {batch}{listed})"
        yield '    state = [each.clone() for name, each in model.state_dict().items() if name != "unused"]'
        if not is_about_state:
            yield "    state += [torch.as_tensor(each, dtype=torch.float64).detach() for each in _numbers(returned)]"
        yield "    history.append(state)"

    def value(self, made: ExperimentCall) -> str:
        return HISTORY


EXPERIMENTS: dict[str, Experiment] = {
    "function": FunctionExperiment(),
    "optimizer": OptimizerExperiment(),
    "training_step": TrainingStepExperiment(),
}
"""The experiments that scripts write out, by adapter."""


def _values_of_run(call: MadeCall) -> int:
    """Return how many values the adapter of optimizers returns for each run: the inputs and the unused parameter."""
    return len(call.arguments) + 1


def _is_about_second_run(call: MadeCall, observed: Expression | None) -> bool:
    """Return whether the comparison is about the run with a reloaded state, whose values come second."""
    count = _values_of_run(call)
    return any(count <= item < 2 * count for item in _items(observed))


def _is_about_state(observed: Expression | None) -> bool:
    """Return whether the comparison is about a parameter or buffer of the model."""
    model = training_step.Model(width=1, outputs=1, unused=False)
    items = _items(observed)
    return bool(items) and max(items) < len(model.state_dict())


def _items(observed: Expression | None) -> list[int]:
    """Return the items of the adapter's value that the comparison is about."""
    return [each.item for each in observed.operands if isinstance(each.item, int)] if observed else []


def _scales(index: int, parameter: torch.Tensor, step: int) -> torch.Tensor:
    """Return the factors of the experiment's gradients, every third of which is tiny."""
    scale = optimizer._scale(index, parameter, step)  # noqa: SLF001 - the experiment that this script repeats
    scale.view(-1)[:: optimizer.TINY_EVERY] *= optimizer.TINY
    return scale
