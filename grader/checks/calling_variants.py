"""Calling variants of calling a module: by position, in training mode, without gradients, in other layouts, loudly, ...

A right module returns the same however it is called. The calling variants of a check's size cases are drawn from the
seed, so that each is met somewhere in a run, and no size case is tried in more than one way beside the plain one.
"""

import operator
import random
from collections.abc import Callable

from msgspec import Struct

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
