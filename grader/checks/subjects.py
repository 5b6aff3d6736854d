"""Kinds of subject: what a submission offers, and the adapter by which every check can call it.

A check knows modules alone: it builds one and calls it. What is no module gets an adapter, an `nn.Module` whose
forward is the experiment: it runs beside the submission in its worker, and beside the reference in the examiner. It
holds no secret, and what it answers is believed no more than what the submission does.
"""

from typing import Any

from msgspec import Struct

from grader.spec.interface import Interface, Kind
from grader.spec.paths import USUAL_MODULE

ADAPTER = "Adapter"
"""The class that an adapter's source defines, below the names ENTRY, BY_POSITION and INPUTS.

What is tried, whether it takes its inputs by position too, and their names.
"""


class SubjectKind(Struct, frozen=True):
    """How the things of one kind are tried.

    `adapter` is a source that defines the class `Adapter`, empty where the submission's class is called itself;
    `may_be_module` tells that a class of this kind is called itself, too, `has_calling_variants` that a call can be
    made in
    other calling variants than the plain one (`calling_variants.py`). `told` says to students what it is, `trial`
    what an adapter does
    with it: `{entry}` of `{inputs}` with `{arguments}`; `file` is what its module is called if nobody says otherwise,
    `same` what it shares with the reference when the two are compared.
    """

    told: str
    adapter: str = ""
    trial: str = "{entry}({inputs}, {arguments})"
    may_be_module: bool = False
    has_calling_variants: bool = False
    file: str = USUAL_MODULE
    same: str = "inputs"


OF_FUNCTION = """
class Adapter(torch.nn.Module):
    def __init__(self, *positional, **arguments):
        super().__init__()
        self.positional, self.arguments = positional, arguments

    def forward(self, *positional, **inputs):
        if self.positional:  # what stands before them is by position, too
            positional, inputs = (*positional, *inputs.values(), *self.positional), {}
        return getattr(submission, ENTRY)(*positional, **inputs, **self.arguments)
"""
"""A function of tensors, or a loss that is one: called with inputs, and the constructor's arguments by keyword."""

OF_OPTIMIZER = """
TINY, TINY_EVERY = 1e-8, 3  # so small that what is added to avoid a division by zero counts
DECADES, GOLDEN = 3, 0.6180339887498949  # how far the size of one gradient changes from step to step
SLOPES = 4  # with ever steeper ones roundings would grow in time

class Adapter(torch.nn.Module):
    def __init__(self, steps=4, closure=False, **arguments):
        super().__init__()
        self.steps, self.closure, self.arguments = steps, closure, arguments

    def forward(self, *positional, **inputs):
        starts = {**dict(zip(INPUTS, positional)), **inputs}.values()
        self.scales = {}  # of gradients by parameter and step, the same in both walks
        straight, returned = self._walk(starts, reloads=False)
        reloaded, returned_too = self._walk(starts, reloads=True)
        told = [torch.tensor([*returned, *returned_too])] if self.closure else []
        return (*straight, *reloaded, *told)

    def _walk(self, starts, *, reloads):
        with torch.inference_mode(False), torch.enable_grad():
            parameters = [torch.nn.Parameter(each.detach().clone()) for each in starts]
            unused = torch.nn.Parameter(torch.ones(2, dtype=parameters[0].dtype))
            optimizer = getattr(submission, ENTRY)([*parameters, unused], **self.arguments)
            seen = [[each.detach().clone() for each in (*parameters, unused)]]
            returned = []
            for step in range(self.steps):
                if reloads and step == self.steps // 2:
                    other = getattr(submission, ENTRY)([*parameters, unused], **self.arguments)
                    other.load_state_dict(optimizer.state_dict())
                    optimizer = other
                if self.closure:
                    returned.append(self._step_with_closure(optimizer, parameters, step))
                else:
                    self._give_gradients(parameters, step)
                    optimizer.step()
                seen.append([each.detach().clone() for each in (*parameters, unused)])
        return [torch.stack(values) for values in zip(*seen)], returned

    def _give_gradients(self, parameters, step):
        for index, each in enumerate(parameters):
            if (index, step) not in self.scales:
                self.scales[index, step] = self._scale(index, each, step)
            each.grad = (torch.sin(each.detach() * (1 + step % SLOPES)) + 0.1 * step) * self.scales[index, step]
            each.grad.view(-1)[::TINY_EVERY] *= TINY

    def _scale(self, index, parameter, step):
        places = torch.arange(parameter.numel(), dtype=torch.float64).view(parameter.shape)
        sizes = 10.0 ** (-DECADES * ((places + 1) * (step + 1) * GOLDEN % 1.0))
        signs = torch.where((7 * places + 3 * step) % 5 < 2, -1.0, 1.0)
        return (signs * sizes).to(parameter.dtype) * 10.0 ** (3 * (index % 3) - 1)

    def _step_with_closure(self, optimizer, parameters, step):
        # every other step is given the gradients by the closure, whose loss the step returns
        def closure():
            self._give_gradients(parameters, step)
            return torch.tensor(step + 0.5 * torch.is_grad_enabled())

        if step % 2:
            loss = optimizer.step(closure)
            return float("nan") if loss is None else float(loss)
        self._give_gradients(parameters, step)
        return -1.0 if optimizer.step() is None else -2.0
"""
"""An optimizer: parameters after each of some steps from the same start, once also through its state dict.

The inputs are the parameters' first values; the whole number `steps` says how many there are, and where `closure` is
true every other step is given one, and what steps return is compared too. The gradients follow from the parameters:
from step to step they change their signs and sizes, small ones and ones beyond any limit that somebody would set; one
parameter gets none.
"""

OF_TRAINING_STEP = """
class _Model(torch.nn.Module):
    def __init__(self, width, outputs, unused):
        super().__init__()
        self.first = torch.nn.Linear(width, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.drop = torch.nn.Dropout(0.5)
        self.last = torch.nn.Linear(8, outputs)
        if unused:
            self.unused = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.last(self.drop(torch.tanh(self.norm(self.first(x)))))


class Adapter(torch.nn.Module):
    def __init__(self, width=6, outputs=3, learning_rate=0.1, momentum=0.9, unused=False, **arguments):
        super().__init__()
        self.model = _Model(width, outputs, unused)
        self.learning_rate, self.momentum, self.arguments = learning_rate, momentum, arguments

    def forward(self, *positional, **inputs):
        import copy

        inputs = {**dict(zip(INPUTS, positional)), **inputs}
        steps = min(len(each) for each in inputs.values() if isinstance(each, torch.Tensor))
        with torch.inference_mode(False), torch.enable_grad():
            model = copy.deepcopy(self.model).train(self.training)
            optimizer = torch.optim.SGD(model.parameters(), lr=self.learning_rate, momentum=self.momentum)
            drawn = torch.get_rng_state()
            torch.default_generator.manual_seed(5)
            seen = []
            for step in range(steps):
                batch = {
                    name: each[step].detach() if isinstance(each, torch.Tensor) else each
                    for name, each in inputs.items()
                }
                if BY_POSITION and step % 2:
                    returned = getattr(submission, ENTRY)(model, optimizer, *batch.values(), **self.arguments)
                else:
                    returned = getattr(submission, ENTRY)(model, optimizer, **batch, **self.arguments)
                seen.append(self._state(model, returned))
            torch.set_rng_state(drawn)
        return tuple(torch.stack(values) for values in zip(*seen))

    def _state(self, model, returned):
        modes = torch.tensor([float(each.training) for each in model.modules()])
        state = {name: each for name, each in model.state_dict().items() if name != "unused"}
        values = [torch.as_tensor(each).detach().clone() for each in state.values()]
        if isinstance(returned, (int, float, torch.Tensor)):
            values.append(torch.as_tensor(returned, dtype=torch.float64).detach().clone())  # a number or a tensor
        return [*values, modes, torch.rand(2)]
"""
"""A training step: the student's function is called with a model, an optimizer and batches that are the kit's.

Each input has an axis of steps first; each step is handed its part, every other one by position. What is compared are
the parameters, buffers and modes after every step, what the step returned, and what is drawn at random afterwards.
Where `unused` is true, the model has one parameter more, which gets no gradient.
"""

OF_DATASET = """
class _Worker:
    def __init__(self, number, count):
        self.id, self.num_workers, self.seed, self.dataset = number, count, number, None


class Adapter(torch.nn.Module):
    MOST = 200

    def __init__(self, **arguments):
        super().__init__()
        self.arguments = arguments

    def forward(self, *positional, **inputs):
        import torch.utils.data as data

        inputs = {**dict(zip(INPUTS, positional)), **inputs}
        drawn = torch.get_rng_state()
        torch.default_generator.manual_seed(5)
        made = getattr(submission, ENTRY)(**inputs, **self.arguments)
        seen = []
        for epoch in (None, 0, 1) if hasattr(made, "set_epoch") else (None, None):
            if epoch is not None:  # at first as somebody iterates who sets none
                made.set_epoch(epoch)
            if hasattr(made, "__len__"):
                seen.append(torch.tensor(float(len(made))))
            seen += self._items(made)
        if hasattr(made, "__iter__"):
            before = data.get_worker_info
            try:
                for number in range(2):
                    info = _Worker(number, 2)
                    data.get_worker_info = data._utils.worker.get_worker_info = lambda: info
                    seen += [torch.tensor(float(number)), *self._items(made)]
            finally:
                data.get_worker_info = data._utils.worker.get_worker_info = before
        torch.set_rng_state(drawn)
        return tuple(seen)

    def _items(self, made):
        import itertools

        items = itertools.islice(made, self.MOST) if hasattr(made, "__iter__") else (
            made[index] for index in range(min(len(made), self.MOST))
        )
        return [self._plain(item) for item in items]

    def _plain(self, item):
        if isinstance(item, dict):
            return tuple(self._plain(item[name]) for name in sorted(item))
        if isinstance(item, (tuple, list)):
            return tuple(self._plain(each) for each in item)
        return torch.as_tensor(item)
"""
"""A dataset or sampler: the items and their order, over two epochs, and shared among two workers where it iterates.

It is built from the inputs and the constructor's arguments, by keyword.
"""

KINDS: dict[Kind, SubjectKind] = {
    Kind.MODULE: SubjectKind("an `nn.Module`", has_calling_variants=True, same="weights and inputs"),
    Kind.FUNCTION: SubjectKind("a function", OF_FUNCTION, has_calling_variants=True),
    Kind.LOSS: SubjectKind("a loss", OF_FUNCTION, may_be_module=True, has_calling_variants=True, file="loss.py"),
    Kind.OPTIMIZER: SubjectKind(
        "an optimizer",
        OF_OPTIMIZER,
        "{entry}([{inputs}], {arguments}), and some steps of it",
        file="optimizer.py",
        same="parameters and gradients",
    ),
    Kind.TRAINING_STEP: SubjectKind(
        "one step of a training loop, `step(model, optimizer, ...)`",
        OF_TRAINING_STEP,
        "{entry}(model, optimizer, ...) for each step of {inputs}, with {arguments}",
        file="training.py",
        same="model and batches",
    ),
    Kind.DATASET: SubjectKind(
        "a dataset or sampler",
        OF_DATASET,
        "{entry}({inputs}, {arguments}), and its items over two epochs",
        file="data.py",
    ),
}
"""What each kind of subject is."""


OF_NORM = ("norm.weight", "norm.bias", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked")
STATE_OF_MODEL = ("first.weight", "first.bias", *OF_NORM, "last.weight", "last.bias")
"""What the model of a training step holds, in the order in which it is compared."""

AFTER_THE_STATE = ("what it returns", "the modes of the model and its layers", "what is drawn at random next")


def parts_of(interface: Interface, values: Any) -> list[str]:
    """What each of the values that an adapter returns is, in words; none where their numbers say it."""
    if interface.kind is Kind.TRAINING_STEP:
        others = len(values) - len(STATE_OF_MODEL)  # a step that returns nothing has one value less
        return [*(f"the model's {name}, step by step" for name in STATE_OF_MODEL), *AFTER_THE_STATE[-others:]]
    if interface.kind is Kind.OPTIMIZER:
        names = [f"{name}, step by step" for name in (*interface.inputs, "a parameter without a gradient")]
        return [*names, *(f"{name}, its state dict loaded halfway" for name in names), "what the steps return"]
    return []


def adapter_of(interface: Interface) -> tuple[str, str]:
    """The source that is run beside a submission, and the name of what is built: its own class if that is a module."""
    kind = KINDS[interface.kind]
    if not kind.adapter or (kind.may_be_module and interface.class_name):
        return "", interface.entry()
    called = f"ENTRY, BY_POSITION = {interface.entry()!r}, {not interface.keyword_only}\n"
    return f"{called}INPUTS = {list(interface.inputs)!r}\n{kind.adapter}", ADAPTER
