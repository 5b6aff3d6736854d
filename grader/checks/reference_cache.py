"""A cache of the reference's answers: at one seed, the checks ask the same questions for every submission.

A question is a request to a module of the reference. In a sealed edition recorded answers replace the reference.
"""

import collections
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import torch
from msgspec import Struct, structs

from grader.checks.case import seed_draws
from grader.checks.proxies import ModuleProxy, Pass, Tensors
from grader.checks.questions import BuildModule, CallMethod, DrawInputs, Question
from grader.checks.recording import RecordedAnswers, Recording
from grader.errors import KitError
from grader.sandbox.probes import ProbeFunction, name_of
from grader.sandbox.values import version_of

T = TypeVar("T")

_Visit = tuple[str, int]
"""A size case, and how often the check has visited it so far, this time included."""


class StaleCacheError(KitError):
    """A check asked a different question than before at this point. Its answers are dropped, and it runs again."""


class Answer(Struct, frozen=True, kw_only=True):
    """One question and its result.

    `versions` are those of the tensors in the result. `generator` is torch's state after inputs were drawn.
    """

    question: Question
    result: Any
    versions: list[tuple[torch.Tensor, int]]
    generator: torch.Tensor | None

    def is_as_it_was(self) -> bool:
        """Return whether no check has written to the result."""
        return all(tensor._version == version for tensor, version in self.versions)  # noqa: SLF001 - see `version_of`


class ReferenceSource(Protocol):
    """Builds modules for the reference to answer with."""

    def build(self, arguments: dict[str, Any], dtype: str, variation: str, entry: str) -> Any:
        """Build a module with fresh weights."""


class Answers:
    """The questions and answers of one size case of a check, in order, and the modules in their state after the last
    answer.

    Random numbers after an answer depend only on the `name` and on the answer's position, so they do not depend on
    whether the answer was computed, looked up or recorded.
    """

    def __init__(self, name: str = "", recorded: RecordedAnswers | None = None) -> None:
        self.modules: list[Any] = []
        self.built = 0
        self.is_stale = self.is_broken = self.is_called = False
        self.seconds = 0.0
        self._name = name
        self._recorded = recorded
        self._answers: list[Answer] = []
        self._position = self._looked_up = 0

    def rewind(self) -> None:
        """Go back to the first question."""
        self._position = self.built = self._looked_up = 0

    def is_spoilt(self) -> bool:
        """Return whether the check asked a different question than before, or changed an answer in place."""
        self.is_stale = self.is_stale or not all(each.is_as_it_was() for each in self._answers[: self._looked_up])
        return self.is_stale

    def ask(self, question: Question, act: Callable[[], T]) -> T:
        """Return the stored answer, or else that of `act`; raise `StaleCacheError` if the stored question differs."""
        is_known = self._position < len(self._answers)
        result: T = self._look_up(question) if is_known else self._compute(question, act)
        self._position += 1
        if not isinstance(question, DrawInputs):
            seed_draws(f"{self._name}/{self._position}")
        return result

    def questions_and_answers(self) -> list[tuple[Question, Any]]:
        """Return every question put to the reference with its answer, in order."""
        return [(each.question, each.result) for each in self._answers if not isinstance(each.question, DrawInputs)]

    def _compute(self, question: Question, act: Callable[[], T]) -> T:
        is_draw = isinstance(question, DrawInputs)
        started = time.process_time()  # not affected by other processes
        try:
            result: T = self._recorded.answer(question) if self._recorded and not is_draw else act()
        except BaseException:
            self.is_broken = True  # the failed call may have changed the modules
            raise
        finally:
            self.seconds += time.process_time() - started
        versions = [(tensor, version_of(tensor)) for tensor in _tensors_in(result) if not tensor.is_inference()]
        generator = torch.default_generator.get_state() if is_draw else None
        self._answers.append(Answer(question=question, result=result, versions=versions, generator=generator))
        return result

    def _look_up(self, question: Question) -> Any:
        answer = self._answers[self._position]
        self._looked_up = self._position + 1
        if self.is_stale or not (_is_same(answer.question, question) and answer.is_as_it_was()):
            self.is_stale = True
            raise StaleCacheError("a check asked the reference another question than before")
        if answer.generator is not None:
            torch.default_generator.set_state(answer.generator)
        return answer.result


class ReferenceCache:
    """The reference with its answers at one seed and default dtype, by check, size case and visit.

    The answers of one seed and dtype are kept for all submissions, and dropped when another seed or dtype begins. A
    check that fails without gradients visits its size case again, with gradients.

    If a check asks another question than before, or writes to an answer, its answers are dropped and it must run again.
    If `needs_all_size_cases`, checks run at every size case.
    """

    def __init__(self, reference: ReferenceSource, recording: Recording | None = None) -> None:
        self.needs_all_size_cases = False
        self._reference = reference
        self._recording = recording
        self._known: dict[str, dict[_Visit, Answers]] = {}
        self._seed_and_dtype = ""
        self._seed = 0
        self._check = ""
        self._answers = Answers()
        self._visits: collections.Counter[str] = collections.Counter()
        """How often the check has visited each size case."""

    def begin(self, check: str, seed: int, dtype: str) -> None:
        """Start a check from its first question."""
        if self._seed_and_dtype != f"{seed}/{dtype}":
            self._known, self._seed_and_dtype = {}, f"{seed}/{dtype}"
        if any(answers.is_stale or answers.is_broken for answers in self._known.get(check, {}).values()):
            del self._known[check]
        self._seed, self._check = seed, check
        self._visits.clear()
        self._go_to("")

    def is_to_be_repeated(self) -> bool:
        """Return whether the check must run again, since its answers were dropped."""
        return any(answers.is_spoilt() for answers in self._visited())

    def was_called(self) -> bool:
        """Return whether the check has called a module of the reference."""
        return any(answers.is_called for answers in self._visited())

    def seconds(self) -> float:
        """Return the reference's time in the check so far, measured when its answers were computed."""
        return sum(answers.seconds for answers in self._visited())

    def questions_and_answers(self) -> dict[str, dict[str, list[tuple[Question, Any]]]]:
        """Return all questions and answers of first visits, by check and size case."""
        return {
            check: {
                name: known
                for (name, visit), answers in visited.items()
                if visit == 1 and (known := answers.questions_and_answers())
            }
            for check, visited in self._known.items()
        }

    def _visited(self) -> Iterator[Answers]:
        """Yield the answers of each visit of the check so far."""
        known = self._known.get(self._check, {})
        for name, visits in self._visits.items():
            yield from (known[name, visit] for visit in range(1, visits + 1) if (name, visit) in known)

    def draw(self, name: str, draw: Callable[[], T]) -> T:
        """Return the random inputs of the size case of that name. They depend only on the seed and the name."""
        self._go_to(name)
        return self._answers.ask(DrawInputs(size_case=name), draw)

    def _go_to(self, name: str) -> None:
        recorded = self._recording.recorded_answers(self._seed, self._check, name) if self._recording else None
        self._visits[name] += 1
        new = Answers(f"{self._seed_and_dtype}/{self._check}/{name}", recorded)
        self._answers = self._known.setdefault(self._check, {}).setdefault((name, self._visits[name]), new)
        self._answers.rewind()

    def __call__(self, **arguments: Any) -> ModuleProxy:
        return self.build(arguments)

    def build(self, arguments: dict[str, Any], *, dtype: str = "", variation: str = "", entry: str = "") -> ModuleProxy:
        """Build a module of the reference with new weights."""
        answers = self._answers
        question = BuildModule(arguments=arguments, dtype=dtype, variation=variation, entry=entry)
        answers.ask(question, lambda: answers.modules.append(self._reference.build(arguments, dtype, variation, entry)))
        answers.built += 1
        return CachedProxy(answers, answers.built - 1)


class CachedProxy:
    """A module of the reference that computes an answer only if it is not in the cache."""

    def __init__(self, answers: Answers, number: int) -> None:
        self.training = False
        self.grad = True  # calls of the reference record gradients as torch is set
        self.number = number
        self._answers = answers

    def __call__(self, **inputs: Any) -> Any:
        return self.call("", **inputs)

    def call(self, method: str, **inputs: Any) -> Any:
        return self._ask("call", method, **inputs)

    def run_probe(self, probe: ProbeFunction, inputs: dict[str, Any], **options: Any) -> Any:
        return self._ask("run_probe", probe, inputs, **options)

    def call_each(self, inputs: list[dict[str, Any]], *, grad: bool = True) -> list[Any]:
        values: list[Any] = self._ask("call_each", inputs, grad=grad)
        return values

    def differentiate(self, cotangents: list[torch.Tensor] | None, method: str = "", **inputs: Any) -> Pass:
        passed: Pass = self._ask("differentiate", cotangents, method, **inputs)
        return passed

    def inputs_after(self) -> Tensors:
        left: Tensors = self._ask("inputs_after")
        return left

    def weights(self) -> Tensors:
        weights: Tensors = self._ask("weights")
        return weights

    def initial_weights(self) -> Tensors:
        weights: Tensors = self._ask("initial_weights")
        return weights

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(weight.shape) for name, weight in self.weights().items()}

    def attribute(self, name: str) -> Any:
        return self._ask("attribute", name)

    def printed(self) -> str:
        text: str = self._ask("printed")
        return text

    def load_from(self, other: Any) -> None:
        modules = self._answers.modules
        question = CallMethod(module=self.number, training=self.training, method="load_from", arguments=(other.number,))
        self._answers.ask(question, lambda: modules[self.number].load_from(modules[other.number]))

    def _ask(self, method: str, *arguments: Any, **inputs: Any) -> Any:
        self._answers.is_called |= method in ("call", "run_probe", "call_each", "differentiate")

        def act() -> Any:
            module = self._answers.modules[self.number]
            module.training = self.training
            return getattr(module, method)(*arguments, **inputs)

        question = CallMethod(
            module=self.number,
            training=self.training,
            method=method,
            arguments=tuple(name_of(each) if callable(each) else each for each in arguments),
            inputs=inputs,
        )
        return self._answers.ask(question, act)


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two questions are equal, comparing tensors by value."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, Struct):
        return _is_same(structs.asdict(one), structs.asdict(other))
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(a is b or _is_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict):
        pairs = ((value, other.get(name)) for name, value in one.items())
        return one.keys() == other.keys() and all(a is b or _is_same(a, b) for a, b in pairs)
    return bool(one == other)


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
