"""Cache of what the reference returned: checks at the same seed ask it the same again, so nothing is computed twice."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch
from msgspec import Struct

from grader.examiner.proxies import ModuleProxy, Pass, Tensors
from grader.examiner.reference import AbsentReference, LocalModule, Reference

T = TypeVar("T")


class Entry(Struct, frozen=True):
    """One step of a check that does not depend on the submission: what was asked, how, and what came of it.

    `before` and `after` are the states of the generator that inputs and weights are drawn from.
    """

    asked: tuple[Any, ...]
    act: Callable[[], Any]
    result: Any
    tensors: list[torch.Tensor]
    versions: list[int]
    before: torch.Tensor
    after: torch.Tensor


class Tape:
    """The steps of a check at one seed, in order; a check that leaves the known path is followed from there on."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._position = 0
        self._performed = 0
        self.modules: list[LocalModule] = []
        self.count = 0

    def rewind(self) -> None:
        """Go back to the check's beginning; modules are built again where something new is asked of them."""
        self._position = self._performed = self.count = 0
        self.modules = []

    def step(self, asked: tuple[Any, ...], act: Callable[[], T]) -> T:
        """What `act` returns, or returned when this was asked at this point before."""
        if self._position < len(self._entries):
            entry = self._entries[self._position]
            if _is_same(entry.asked, asked) and _versions(entry.tensors) == entry.versions:
                self._position += 1
                torch.default_generator.set_state(entry.after)
                known: T = entry.result
                return known
        self._catch_up()
        del self._entries[self._position :]
        before = torch.default_generator.get_state()
        result = act()
        after = torch.default_generator.get_state()
        tensors = list(_tensors_in(result))
        self._entries.append(Entry(asked, act, result, tensors, _versions(tensors), before, after))
        self._position = self._performed = len(self._entries)
        return result

    def _catch_up(self) -> None:
        """Perform the steps that were only read off so far: their modules are needed now."""
        state = torch.default_generator.get_state()
        for entry in self._entries[self._performed : self._position]:
            torch.default_generator.set_state(entry.before)
            entry.act()
        torch.default_generator.set_state(state)


class ReferenceCache:
    """A reference with tapes, as long as the seed and the default dtype stay the same.

    There is one for each rung of each check, and one for each check that has no rungs.
    """

    def __init__(self, reference: Reference | AbsentReference) -> None:
        self._reference = reference
        self._tapes: dict[str, Tape] = {}
        self._set = ""
        self._tape = Tape()

    def begin(self, check: str, seed: int, dtype: str) -> None:
        """Go to the beginning of a check."""
        if self._set != f"{seed}/{dtype}":
            self._tapes, self._set = {}, f"{seed}/{dtype}"
        self._wind_to(check)

    def draw(self, name: str, draw: Callable[[], T]) -> T:
        """What `draw` returns, which depends on the seed and the name alone; what follows has a tape of its own."""
        self._wind_to(name)
        return self._tape.step(("draw", name), draw)

    def _wind_to(self, name: str) -> None:
        self._tape = self._tapes.setdefault(name, Tape())
        self._tape.rewind()

    def __call__(self, **arguments: Any) -> ModuleProxy:
        return self.build(arguments)

    def build(
        self,
        arguments: dict[str, Any],
        *,
        like: ModuleProxy | None = None,
        dtype: str = "",
        probe: str = "",
        entry: str = "",
        at_once: bool = True,  # noqa: ARG002 - the subject's concern
    ) -> ModuleProxy:
        """The reference, with fresh weights."""
        assert like is None, "the reference's weights are its own"
        tape = self._tape
        asked = ("build", arguments, dtype, probe, entry)
        tape.step(asked, lambda: tape.modules.append(self._reference.build(arguments, dtype, probe, entry)))
        tape.count += 1
        return CachedProxy(tape, tape.count - 1)


class CachedProxy:
    """A module of the reference that computes only what was never asked of it at this point."""

    def __init__(self, tape: Tape, number: int) -> None:
        self.training = False
        self.number = number
        self._tape = tape

    def __call__(self, **inputs: Any) -> Any:
        return self.call("", **inputs)

    def call(self, method: str, **inputs: Any) -> Any:
        return self._step(lambda module: module.call(method, **inputs), "call", method, inputs)

    def repeat(self, times: int, **inputs: Any) -> list[Any]:
        return self._step(lambda module: module.repeat(times, **inputs), "repeat", times, inputs)

    def differentiate(self, cotangents: list[torch.Tensor] | None, method: str = "", **inputs: Any) -> Pass:
        return self._step(
            lambda module: module.differentiate(cotangents, method, **inputs),
            "differentiate",
            cotangents,
            method,
            inputs,
        )

    def inputs_after(self) -> Tensors:
        return self._step(lambda module: module.inputs_after(), "inputs_after")

    def weights(self) -> Tensors:
        return self._step(lambda module: module.weights(), "weights")

    def attribute(self, name: str) -> Any:
        return self._step(lambda module: module.attribute(name), "attribute", name)

    def printed(self) -> str:
        return self._step(lambda module: module.printed(), "printed")

    def load_from(self, other: Any) -> None:
        self._step(lambda module: module.load_from(self._tape.modules[other.number]), "load_from", other.number)

    def _step(self, act: Callable[[LocalModule], T], *asked: Any) -> T:
        tape, number, training = self._tape, self.number, self.training

        def perform() -> T:
            module = tape.modules[number]
            module.training = training
            return act(module)

        return tape.step((number, training, *asked), perform)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two questions are the same, tensors by value."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_is_same(value, other[name]) for name, value in one.items())
    return bool(one == other)


def _versions(tensors: list[torch.Tensor]) -> list[int]:
    """How often each tensor was written to: a result that a check has changed cannot be handed out again."""
    return [tensor._version for tensor in tensors]  # noqa: SLF001 - there is no other way to ask


def _tensors_in(result: Any) -> Iterator[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, Struct):
        yield from _tensors_in([getattr(result, name) for name in result.__struct_fields__])
    elif isinstance(result, dict):
        yield from _tensors_in(list(result.values()))
    elif isinstance(result, tuple | list):
        for item in result:
            yield from _tensors_in(item)
