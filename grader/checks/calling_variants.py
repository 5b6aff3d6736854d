"""Calling variants of calling a module: by position, in training mode, without gradients, in other layouts, loudly, ...

A right module returns the same however it is called. The calling variants of a check's size cases are drawn from the
seed, so that each is met somewhere in a run, and no size case is tried in more than one way beside the plain one.
"""

import operator
import random
from collections.abc import Callable

from msgspec import Struct

from grader.checks.subjects import adapter_of
from grader.spec.exercise import Exercise

LOUDNESS = 60.0
"""So much larger than usual are loud inputs: scores reach thousands, where a fill of -1000 hides nothing."""

MODES = ("training", "")
GRADS = ("no_grad", "inference_mode", "")
LAYOUTS = ("transposed", "expanded", "")
HISTORIES = ("reloaded", "modes", "copied", "double", "rebuilt", "again")
SHARES = ("shared", "")

WORDS = {
    "positional": "by position",
    "training": "in training mode",
    "no_grad": "under no_grad",
    "inference_mode": "under inference_mode",
    "transposed": "inputs transposed in memory",
    "expanded": "one sample expanded to all",
    "shared": "one tensor for inputs of one shape",
    "reloaded": "state dict reloaded",
    "rebuilt": "rebuilt by position",
    "modes": "after train() and eval()",
    "copied": "as a deepcopy",
    "double": "in float64",
    "again": "after others in the same tensors",
    "loud": f"inputs {LOUDNESS:g} times as large",
}

IN_CALLING_VARIANT = "in_calling_variant"
"""The probe's method."""

PROBE = """
import contextlib
import copy

BUILT = {{}}

def keeping(words):
    if "inference_mode" in words:
        return torch.inference_mode()
    return torch.no_grad() if "no_grad" in words else contextlib.nullcontext()

def is_of_ones(value):
    return value.dtype == torch.bool or (value.numel() > 0 and value.min() >= 0 and value.max() <= 1)

def write(tensors, others):
    with torch.no_grad():
        for value, other in zip(tensors, others):
            for axis, step in enumerate(value.stride()):
                if step == 0:  # one sample expanded to all is written to once
                    value, other = value.narrow(axis, 0, 1), other.narrow(axis, 0, 1)
            with contextlib.suppress(RuntimeError):
                value.copy_(other)

@contextlib.contextmanager
def holding(tensors, others):
    kept = [value.detach().clone() for value in tensors]
    write(tensors, others)
    try:
        yield
    finally:
        write(tensors, kept)

def call_with_others(module, inputs, call):
    tensors = [value for value in inputs.values() if isinstance(value, torch.Tensor) and value.dim()]
    rolled = [value for value in tensors if value.is_floating_point() or is_of_ones(value)]
    others = [value.detach().roll(1, -1) for value in rolled]
    weights = [*module.parameters()]  # not rolled too, or weights times inputs would be what they were
    turns = list(map(turned, weights))
    for values, theirs in ((rolled + weights, others + turns), (weights, turns)):  # what is kept may know the inputs
        with holding(values, theirs), contextlib.suppress(Exception):
            call()

def turned(value):
    # weights that point elsewhere: a softmax of loud scores is the same for smaller ones
    return value.detach() * torch.linspace(-1.0, 0.5, value.numel(), dtype=value.dtype).view(value.shape)

def laid_out(value, words, axis):
    if not isinstance(value, torch.Tensor) or value.dim() < 2:
        return value
    if "expanded" in words:
        return value if axis is None else value.narrow(int(axis), 0, 1).expand(value.shape)
    return value.transpose(0, -1).contiguous().transpose(0, -1) if "transposed" in words else value

def first_like(value, others):
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    alike = (other for other in others if isinstance(other, torch.Tensor) and torch.equal(other, value))
    return next(alike, value)

class Variation({entry}):
    def __init__(self, **arguments):
        super().__init__(**arguments)
        BUILT[id(self)] = arguments

    def _history(self, words, method, inputs):
        if not {{"reloaded", "rebuilt", "double"}}.isdisjoint(words):
            arguments = BUILT[id(self)]
            by_position = "rebuilt" in words
            again = {entry}(*arguments.values()) if by_position else {entry}(**arguments)
            state = self.state_dict()
            others = {{name: value * 0 if isinstance(value, torch.Tensor) else value for name, value in state.items()}}
            for checkpoint in (others, state):  # what is loaded last counts
                again.load_state_dict(checkpoint)
            again.train(self.training)
            return again.double() if "double" in words else again
        if "modes" in words:
            was = self.training
            for mode in (not was, was):
                self.train(mode)
                (getattr(self, method) if method else self)(**inputs)
        if "copied" in words:
            try:
                return copy.deepcopy(self)
            except (RuntimeError, TypeError) as error:  # it keeps what nobody can copy, such as a lock
                if not any(words in str(error) for words in ("deepcopy protocol", "cannot pickle")):
                    raise
        return self

    def in_calling_variant(self, _calling_variant, _method, _by_position, _axes, **inputs):
        words = _calling_variant.split()
        module = self._history(words, _method, inputs)
        axes = dict(pair.split("=") for pair in _axes.split())
        if "double" in words:
            inputs = {{
                name: value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
                for name, value in inputs.items()
            }}
        inputs = {{name: laid_out(value, words, axes.get(name)) for name, value in inputs.items()}}
        if "shared" in words:
            inputs = {{name: first_like(value, inputs.values()) for name, value in inputs.items()}}
        call = getattr(module, _method) if _method else module
        by_position = _by_position.split()

        def called():
            by_name = {{name: value for name, value in inputs.items() if name not in by_position}}
            with keeping(words):
                return call(*(inputs[name] for name in by_position), **by_name)

        if "again" in words:
            call_with_others(module, inputs, called)
        was = module.training
        own = [] if module is self else [*self.parameters()]  # what was made of it has to do without
        with holding(own, list(map(torch.zeros_like, own))):
            value = called()
        if module.training != was:
            raise RuntimeError(f"the call left the module's training as {{module.training}}, which was {{was}}")
        return value
"""
"""A probe: calls the submission's module in a calling variant, and looks whether the call left its mode as it was."""


class CallingVariant(Struct, frozen=True):
    """How a module is called: words of `WORDS`."""

    words: tuple[str, ...]

    def without(self, word: str) -> "CallingVariant":
        """The same calling variant but for one word."""
        return CallingVariant(tuple(other for other in self.words if other != word))

    def described(self) -> str:
        return f"called {', '.join(WORDS[word] for word in self.words) or 'once more'}"


def is_of_training(text: str) -> bool:
    """Whether a finding's text tells of a calling variant in training mode."""
    return text.startswith("called ") and WORDS["training"] in text.partition(":")[0]


def draw_calling_variants(name: str, count: int, loud_among: int, surely: str = "") -> list[CallingVariant]:
    """So many calling variants; each of the words is among them where there is room, and `surely` one; one of the
    first is loud.

    The loud one is not that after others, nor `surely`: in a softmax of loud scores much may be what it was.

    Only the first have samples that are all the same: there a plain call shows what mixes them, elsewhere none does.
    """
    draw = random.Random(name)  # noqa: S311 - the seed is a run's own, and secret
    layouts = _dealt(draw, LAYOUTS, loud_among) + _dealt(draw, ("transposed", ""), count - loud_among)
    modes = _dealt(draw, MODES, count)
    grads, histories = _dealt(draw, GRADS, count), _dealt(draw, HISTORIES, count, surely)
    for slot, history in enumerate(histories):
        if history == "again":  # what is kept from call to call is mostly kept in evaluation, without gradients
            _exchange(grads, slot, bool)
            _exchange(modes, slot, operator.not_)
    loud = draw.choice([slot for slot in range(loud_among) if histories[slot] not in {"again", surely}] or [0])
    positional = [number % 2 == 0 for number in range(count)]
    draw.shuffle(positional)
    dealt = [modes, grads, layouts, _dealt(draw, SHARES, count), histories]
    return [
        CallingVariant(
            tuple(
                word
                for word in (
                    "positional" if positional[slot] else "",
                    *(words[slot] for words in dealt),
                    "loud" if slot == loud else "",
                )
                if word
            )
        )
        for slot in range(count)
    ]


def _exchange(words: list[str], slot: int, is_fit: Callable[[str], bool]) -> None:
    """Exchange a slot's word, where it is not fit, for the first that is, if there is one."""
    if not is_fit(words[slot]):
        other = next((number for number, word in enumerate(words) if is_fit(word)), slot)
        words[slot], words[other] = words[other], words[slot]


def _dealt(draw: random.Random, words: tuple[str, ...], count: int, surely: str = "") -> list[str]:
    """So many of the words in another order, each as often as the others; the first is `surely`, if that is given."""
    order = sorted(draw.sample(words, len(words)), key=lambda word: word != surely)
    return [order[number % len(order)] for number in range(count)]


def probe_for(exercise: Exercise) -> str:
    """The probe beside an exercise's class, or beside what adapts its function."""
    adapter, entry = adapter_of(exercise.interface)
    return adapter + PROBE.format(entry=entry if adapter else f"submission.{entry}")
