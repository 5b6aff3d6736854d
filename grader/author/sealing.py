"""Seal an exercise: record what its reference answers at a few seeds, so that checks can run without it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import msgspec
import torch
from msgspec import Struct, structs

from grader.checks.outcome import Key, Status, variant_name
from grader.checks.proxies import Pass
from grader.checks.recording import DRAWS, LENGTH_BYTES, Recorded, RecordedAnswer, draw_again, question_of
from grader.checks.reference import LocalModule, Reference
from grader.checks.reference_cache import Answers, ReferenceCache
from grader.checks.runner import Runner
from grader.errors import BrokenExerciseError
from grader.sandbox.values import DTYPE_NAMES, from_tensor
from grader.spec.exercise import Exercise
from grader.spec.fragments import put_back
from grader.spec.paths import Course
from grader.submission import submission_from_text
from grader.verdict.signatures import KEY_SEED, find_key, patience, require_all_passed

MOST_SEEDS = 3
MOST_BYTES = 1_000_000
"""As many seeds are recorded as fit in so much, and the first where it takes no more than twice that."""

SAFETENSORS = {
    "float64": "F64",
    "int64": "I64",
    "float32": "F32",
    "int32": "I32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}
"""What safetensors calls the dtypes, the widest first, so that each array begins at a multiple of its width."""


class Sealed(Struct, frozen=True):
    """What stands in for the reference, the exercise as it is sealed, and whether a check fails the starter always."""

    exercise: Exercise
    answers: bytes
    key: bytes
    sees_the_starter: bool


def seal(course: Course, runner: Runner, most_bytes: int = MOST_BYTES) -> Sealed:
    """Record the answers of the exercise's reference, and what its variants fail by, at as many seeds as fit.

    Where not one fits, the largest of the size cases whose sizes are drawn are left out.
    """
    key = find_key(course, runner)
    while True:
        tape, starters = _recorded(course, runner, most_bytes)
        exercise = runner.exercise
        if tape is not None:
            return Sealed(exercise, tape, _sealed_key(exercise, key), all(starters))
        if not exercise.random_sizes:
            raise BrokenExerciseError(
                f"{exercise.id}: answers of over {2 * most_bytes:,} bytes; make its sizes smaller"
            )
        largest = max(exercise.random_sizes, key=_numbers_in)
        fewer = [size_case for size_case in exercise.sizes if size_case is not largest]
        runner.exercise = structs.replace(exercise, sizes=fewer)


def _numbers_in(size_case: dict[str, Any]) -> int:
    """About how many numbers there are at a size case whose sizes are drawn, at most."""
    return prod(size if isinstance(size, int) else size[-1] for size in size_case.values())


def _recorded(course: Course, runner: Runner, most_bytes: int) -> tuple[bytes | None, list[bool]]:
    """The recording, or None where one seed takes more bytes; and for each seed whether a check fails the starter."""
    exercise, tape = runner.exercise, Tape()
    runner.reference = ReferenceCache(WatchedReference(course.reference(exercise.id), exercise.interface))
    content: bytes | None = None
    starters: list[bool] = []
    with patience(runner):
        for seed in range(KEY_SEED, KEY_SEED + MOST_SEEDS):
            fails_starter = _record(course, runner, tape, seed)
            longer = tape.content()
            if len(longer) > (most_bytes if starters else 2 * most_bytes):
                break
            content = longer
            starters.append(fails_starter)
    return content, starters


def _record(course: Course, runner: Runner, tape: "Tape", seed: int) -> bool:
    """Record one seed; whether a check fails the starter."""
    exercise = runner.exercise
    checks = [check.id for check in exercise.checks]
    text = course.reference(exercise.id).read_text(encoding="utf-8")
    runner.reference.is_asked_all = True
    seen = runner.examine(submission_from_text(text), seed, only=checks)
    runner.reference.is_asked_all = False
    require_all_passed(exercise.id, seen)
    tape.note_answers(seed, runner.reference.known())
    fails = False
    for subset in exercise.subsets():
        if subset:
            variant = put_back(text, [defect for defect in exercise.defects if defect.id in subset])
            seen = runner.examine(submission_from_text(variant), seed, only=checks)
            failed = {
                outcome.check: (outcome.finding.kind, seen.saw.get(outcome.check))
                for outcome in seen.outcomes
                if outcome.status is Status.FAILED and outcome.finding
            }
            tape.note_variant(seed, numbered(exercise, variant_name(subset)), failed)
            fails = any(outcome.status is not Status.PASSED for outcome in seen.outcomes)
    return fails or not exercise.defects  # of the last subset, which is all of them


def _sealed_key(exercise: Exercise, key: Key) -> bytes:
    """The key with numbers in place of names, of the checks that an edition has, without syntax trees."""
    checks = {check.id for check in exercise.checks}
    kinds = {
        numbered(exercise, name): {check: kind for check, kind in failure_kinds.items() if check in checks}
        for name, failure_kinds in key.failure_kinds.items()
    }
    return msgspec.json.encode(Key("", kinds, {}), order="sorted")


def numbered(exercise: Exercise, variant: str) -> str:
    """A variant by the numbers of its defects."""
    numbers = exercise.numbers()
    return variant_name(frozenset(str(numbers[name]) for name in variant.split("+") if name))


class WatchedModule(LocalModule):
    """A module of the reference that knows its first weights and what was drawn for them."""

    def __init__(self, module: LocalModule, draws: list[list[Any]], drawn: list[torch.Tensor]) -> None:
        super().__init__(module.subject)
        self.first = {name: weight.clone() for name, weight in module.weights().items()}
        self.draws = draws
        self.drawn = drawn


class WatchedReference(Reference):
    """A reference whose modules know what their weights were drawn by."""

    def build(self, arguments: dict[str, Any], dtype: str = "", probe: str = "", entry: str = "") -> LocalModule:
        before = torch.default_generator.get_state()
        with _watched_draws() as draws:
            module = super().build(arguments, dtype, probe, entry)
        torch.default_generator.set_state(before)
        drawn = [draw_again(draw) for draw, _ in draws]
        pairs = zip(drawn, (first for _, first in draws), strict=True)
        if not all(again.dtype == first.dtype and torch.equal(again, first) for again, first in pairs):
            return WatchedModule(module, [], [])  # something else was drawn in between
        return WatchedModule(module, [draw for draw, _ in draws], drawn)


@contextmanager
def _watched_draws() -> Iterator[list[tuple[list[Any], torch.Tensor]]]:
    """Notes what is drawn by the operators that can be drawn again."""
    draws: list[tuple[list[Any], torch.Tensor]] = []

    def noting(name: str, draw: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def drawing(*given: Any, **options: Any) -> torch.Tensor:
            result = draw(*given, **options)
            numbers = [each for each in (*given[1:], *options.values()) if isinstance(each, int | float)]
            draws.append(
                ([name, list(result.shape), *(numbers if name.endswith("_") else [])], result.detach().clone())
            )
            return result

        return drawing

    homes = [(torch.Tensor if name.endswith("_") else torch, name) for name in DRAWS]
    own = [(home, name, getattr(home, name)) for home, name in homes]
    for home, name, draw in own:
        setattr(home, name, noting(name, draw))
    try:
        yield draws
    finally:
        for home, name, draw in own:
            setattr(home, name, draw)


class Tape:
    """What is recorded: entries, and the tensors in them, each of them once."""

    def __init__(self) -> None:
        self.recorded = Recorded([], {}, {})
        self._arrays: dict[str, list[bytes]] = {}
        self._places: dict[tuple[str, tuple[int, ...], bytes], int] = {}
        self._lengths: dict[str, int] = {}

    def note_answers(self, seed: int, known: dict[str, dict[str, Answers]]) -> None:
        """All that the reference answered at a seed."""
        self.recorded.seeds.append(seed)
        for check, size_cases in known.items():
            for name, answers in size_cases.items():
                entries = list(self._entries(answers))
                if entries:
                    self.recorded.answers.setdefault(check, {})[name] = entries

    def note_variant(self, seed: int, name: str, saw: dict[str, tuple[str, Any]]) -> None:
        """The kinds of a variant's failures, and what was seen there."""
        noted = {check: (kind, self._plain(value, [])) for check, (kind, value) in saw.items()}
        self.recorded.saw.setdefault(str(seed), {})[name] = noted

    def content(self) -> bytes:
        """The safetensors file: one array for each dtype, and the entries in its metadata."""
        header: dict[str, Any] = {"__metadata__": {"recorded": msgspec.json.encode(self.recorded).decode()}}
        arrays, start = [], 0
        for dtype, called in SAFETENSORS.items():
            if dtype in self._arrays:
                array = b"".join(self._arrays[dtype])
                ends = [start, start + len(array)]
                header[dtype] = {"dtype": called, "shape": [self._lengths[dtype]], "data_offsets": ends}
                arrays.append(array)
                start = ends[1]
        text = msgspec.json.encode(header)
        text += b" " * (-len(text) % LENGTH_BYTES)
        return len(text).to_bytes(LENGTH_BYTES, "little") + text + b"".join(arrays)

    def _entries(self, answers: Answers) -> Iterator[RecordedAnswer]:
        """The questions of one size case with their answers; what was drawn is drawn again."""
        built: list[WatchedModule] = []
        for asked, result in answers.recorded():
            answer: Any
            if asked[0] == "draw":
                continue
            if asked[0] == "build":
                module = answers.modules[len(built)]
                assert isinstance(module, WatchedModule)
                built.append(module)
                made = {name: self._how_made(weight, module.drawn) for name, weight in module.first.items()}
                answer = {"built": [module.draws, made]}
            else:
                answer = {"weights": asked[0]} if asked[2] == "weights" else self._plain(result, built)
            yield RecordedAnswer(*question_of(asked), answer)

    def _how_made(self, weight: torch.Tensor, tensors: list[torch.Tensor]) -> list[Any]:
        """How a weight follows from what was drawn: the last draw of its values, one value throughout, or as it is."""
        dtype = DTYPE_NAMES[weight.dtype]
        for number in reversed(range(len(tensors))):
            drawn = tensors[number]
            if drawn.shape == weight.shape and torch.equal(drawn.to(weight.dtype), weight):
                return ["draw", dtype, [], number]
        if weight.numel() and bool((weight == weight.flatten()[0]).all()):
            return ["fill", dtype, list(weight.shape), float(weight.flatten()[0])]
        return ["t", *self._place(weight)]

    def _plain(self, value: Any, built: list[WatchedModule]) -> Any:
        """A value in the words of JSON; what equals a module's weight is named."""
        match value:
            case torch.Tensor():
                for number, module in enumerate(built):
                    for name, weight in module.first.items():
                        if weight.dtype == value.dtype and torch.equal(weight, value):
                            return {"weight": [number, name]}
                return {"t": self._place(value)}
            case Pass():
                return {"pass": [self._plain(each, built) for each in (value.value, value.parameters, value.inputs)]}
            case torch.Size():
                return {"size": list(value)}
            case tuple():
                return {"tuple": [self._plain(each, built) for each in value]}
            case list():
                return [self._plain(each, built) for each in value]
            case dict():
                return {"dict": {name: self._plain(each, built) for name, each in value.items()}}
        return value

    def _place(self, tensor: torch.Tensor) -> list[Any]:
        """Where a tensor lies: its dtype and shape, and the number of elements before it."""
        dtype, packed = DTYPE_NAMES[tensor.dtype], from_tensor(tensor.contiguous()).data
        before = self._lengths.get(dtype, 0)
        key = (dtype, tuple(tensor.shape), bytes(packed))
        if key not in self._places:
            self._places[key] = before
            self._arrays.setdefault(dtype, []).append(bytes(packed))
            self._lengths[dtype] = before + tensor.numel()
        return [dtype, list(tensor.shape), self._places[key]]
