"""Recorded answers of a reference, read from a safetensors file: what stands in for the reference in a student edition.

Only answers are recorded. Inputs and weights are drawn again from the seed: a built module is recorded as the draws
that made its weights, and what is drawn after an answer depends on the answer's place alone (`reference_cache.py`).
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import torch
from msgspec import Struct

from grader.checks.outcome import Examination, Finding, Outcome, Status, parse_kind
from grader.checks.proxies import Pass, Tensors
from grader.checks.reference import cotangents_for
from grader.errors import KitError
from grader.sandbox.values import TORCH_DTYPES

LENGTH_BYTES = 8
"""A safetensors file begins with the length of its header, little-endian."""

CLOSE = 1e-3
"""How far the sums of inputs may lie apart: another processor rounds a drawn number to its neighbour."""

DIGEST_LENGTH = 10


class NotRecordedError(Exception):
    """A check asks what was not recorded: whether it passes is found out when the exercise is handed in."""


class RecordedAnswer(Struct, frozen=True, array_like=True):
    """A question, as a digest and the sums of its tensors, and its answer; `{"t": [...]}` stands for a tensor."""

    question: str
    sums: list[float]
    answer: Any


class Recorded(Struct, frozen=True):
    """What was recorded: answers by check and size case in the order of the questions, and what variants failed by.

    `saw` holds the kind of each failure and what was seen there, by seed, variant and check.
    """

    seeds: list[int]
    answers: dict[str, dict[str, list[RecordedAnswer]]]
    saw: dict[str, dict[str, dict[str, tuple[str, Any]]]]


def question_of(asked: tuple[Any, ...]) -> tuple[str, list[float]]:
    """A question as it is recorded: a digest of its words and shapes, and the sum of each tensor in it."""
    sums: list[float] = []
    text = msgspec.json.encode(_outline(asked, sums), order="sorted")
    return hashlib.sha256(text).hexdigest()[:DIGEST_LENGTH], sums


def _outline(value: Any, sums: list[float]) -> Any:
    if isinstance(value, torch.Tensor):
        sums.append(float(value.nan_to_num().double().sum()))
        return ["tensor", str(value.dtype), list(value.shape)]
    if isinstance(value, dict):
        return {str(name): _outline(each, sums) for name, each in sorted(value.items())}
    if isinstance(value, tuple | list):
        return [_outline(each, sums) for each in value]
    return value if isinstance(value, str | int | float | None) else repr(value)


DRAWS: dict[str, Callable[..., torch.Tensor]] = {
    "uniform_": lambda shape, low=0.0, high=1.0: torch.empty(shape).uniform_(low, high),
    "normal_": lambda shape, mean=0.0, deviation=1.0: torch.empty(shape).normal_(mean, deviation),
    "rand": torch.rand,
    "randn": torch.randn,
}
"""The draws that weights are made of, by the name of torch's operator."""


def draw_again(draw: list[Any]) -> torch.Tensor:
    """What is drawn by an operator, for a shape, with its numbers."""
    name, shape, *numbers = draw
    return DRAWS[name](shape, *numbers)


class Script:
    """The recorded answers of one size case, given in the order in which they were recorded, to the same questions
    alone.
    """

    def __init__(self, entries: list[RecordedAnswer], decode: "Callable[[Any, Script], Any]") -> None:
        self.weights: list[Tensors] = []
        self.cotangents: list[torch.Tensor] | None = None
        self._entries = entries
        self._decode = decode
        self._next = 0

    def answer(self, asked: tuple[Any, ...]) -> Any:
        """What the reference answered; `NotRecordedError` where it was not asked this."""
        question, sums = question_of(asked)
        for step in range(len(self._entries)):
            index = (self._next + step) % len(self._entries)
            entry = self._entries[index]
            if entry.question == question and _are_close(entry.sums, sums):
                self._next = index + 1
                self.cotangents = asked[3][0] if asked[2] == "differentiate" else None
                return self._decode(entry.answer, self)
        raise NotRecordedError("the reference was not asked this when its answers were recorded")


def _are_close(ones: list[float], others: list[float]) -> bool:
    return all(abs(one - other) <= CLOSE * (1 + abs(one)) for one, other in zip(ones, others, strict=True))


def _failed(check: str, signature: str) -> Outcome:
    """Return the outcome of a check that failed a variant, by the signature of its finding."""
    kind, detail = parse_kind(signature)
    return Outcome(check=check, status=Status.FAILED, finding=Finding(kind=kind, detail=detail))


class Recording:
    """A file of recorded answers; `KitError` where it is not one."""

    def __init__(self, path: Path) -> None:
        try:
            content = bytearray(path.read_bytes())
            start = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES], "little")
            header = msgspec.json.decode(content[LENGTH_BYTES:start])
            self._recorded = msgspec.json.decode(header.pop("__metadata__")["recorded"], type=Recorded)
        except (OSError, KeyError, msgspec.MsgspecError) as error:
            raise KitError(f"{path} cannot be read ({error}); get the edition anew") from None
        self._content = content
        self._starts = {name: start + each["data_offsets"][0] for name, each in header.items()}
        self.seeds = self._recorded.seeds

    def seed_for(self, seed: int) -> int:
        """One of the recorded seeds; a recorded one stands for itself."""
        return seed if seed in self.seeds else self.seeds[seed % len(self.seeds)]

    def script(self, check: str, size_case: str) -> Script:
        """What was answered at one size case of a check."""
        return Script(self._recorded.answers.get(check, {}).get(size_case, []), self._decoded)

    def variant(self, seed: int, name: str) -> Examination:
        """What the checks that failed saw of a variant."""
        known = self._recorded.saw.get(str(seed), {}).get(name, {})
        outcomes = [_failed(check, signature) for check, (signature, _) in known.items()]
        saw = {check: self._decoded(value) for check, (_, value) in known.items()}
        return Examination(
            outcomes=outcomes, deviations={check: value for check, value in saw.items() if value is not None}
        )

    def _decoded(self, value: Any, script: Script | None = None) -> Any:
        if isinstance(value, list):
            return [self._decoded(each, script) for each in value]
        if not isinstance(value, dict):
            return value
        ((form, given),) = value.items()
        match form:
            case "t":
                return self._tensor(*given)
            case "tuple":
                return tuple(self._decoded(each, script) for each in given)
            case "size":
                return torch.Size(given)
            case "dict":
                return {name: self._decoded(each, script) for name, each in given.items()}
        assert script is not None, "only answers speak of weights"
        return self._of_weights(form, given, script)

    def _of_weights(self, form: str, given: Any, script: Script) -> Any:
        match form:
            case "weight":
                return script.weights[given[0]][given[1]].clone()
            case "weights":
                return script.weights[given]
            case "built":
                script.weights.append(self._built(*given))
                return None
            case "pass":
                seen, parameters, inputs = (self._decoded(each, script) for each in given)
                cotangents = script.cotangents or cotangents_for(seen)
                return Pass(value=seen, cotangents=cotangents, parameters=parameters, inputs=inputs)
        raise KitError(f"an answer was recorded in a form that this kit does not know: {form}; get the edition anew")

    def _built(self, draws: list[list[Any]], weights: dict[str, list[Any]]) -> Tensors:
        """The weights of a module that was built, drawn again: each a draw, a value throughout, or recorded whole."""
        drawn = [draw_again(draw) for draw in draws]
        made: dict[str, Callable[..., torch.Tensor]] = {
            "draw": lambda dtype, _, number: drawn[number].to(TORCH_DTYPES[dtype]),
            "fill": lambda dtype, shape, number: torch.full(shape, number, dtype=TORCH_DTYPES[dtype]),
            "t": self._tensor,
        }
        return {name: made[how](*given) for name, (how, *given) in weights.items()}

    def _tensor(self, dtype: str, shape: list[int], offset: int) -> torch.Tensor:
        count, kind = torch.Size(shape).numel(), TORCH_DTYPES[dtype]
        if not count:
            return torch.empty(shape, dtype=kind)
        start = self._starts[dtype] + offset * kind.itemsize
        return torch.frombuffer(self._content, dtype=kind, count=count, offset=start).clone().reshape(shape)
