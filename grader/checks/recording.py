"""Recorded answers of a reference, in a safetensors file that replaces the reference in a sealed edition.

Inputs are drawn from the seed again. An answer is looked up by its question: a digest of the question's texts and
shapes, and the sum of each tensor in it. (Tensors are not digested, because another processor may round a random number
differently.)

For each seed the file contains one flat tensor per dtype, in which equal tensors are stored once, and an index as JSON,
in which `{"tensor": [dtype, shape, start]}` is a slice of the flat tensor of that dtype. Both are compressed. Answers
that are only compared are first rounded by a small share of what the comparison tolerates, because the last digits of
random numbers cannot be compressed.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import torch
from msgspec import Struct, structs
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from grader.checks.outcome import Examination, Finding, Outcome, Status, parse_kind
from grader.checks.proxies import Pass
from grader.checks.questions import CallMethod, Question
from grader.checks.tolerances import (
    FLOAT32,
    FLOAT32_GRADIENT,
    FLOAT64,
    FLOAT64_GRADIENT,
    LARGE_INPUTS,
    LARGE_INPUTS_FLOAT64,
    Tolerance,
)
from grader.errors import KitError
from grader.sandbox.calling_variants import Dtype, VariantCall, from_plain
from grader.sandbox.values import DTYPE_NAMES, TORCH_DTYPES, from_tensor, map_tensors

CLOSE = 1e-3
"""Relative tolerance between the sums of inputs drawn on two machines."""

DIGEST_LENGTH = 10

FINENESS = 16
"""An answer that is only compared is rounded by at most this part of what the comparison tolerates."""

LARGE_TOLERANCES = {torch.float32: LARGE_INPUTS, torch.float64: LARGE_INPUTS_FLOAT64}
TOLERANCES = {torch.float32: FLOAT32, torch.float64: FLOAT64}
GRADIENT_TOLERANCES = {torch.float32: FLOAT32_GRADIENT, torch.float64: FLOAT64_GRADIENT}
"""The smallest tolerances, by dtype, of the checks that only compare an answer: for values, for gradients and for large
inputs. Which of them is the smallest depends on the compared value."""

INDEX = "index"


class NotRecordedError(Exception):
    """A check asked a question that was not recorded, so it can only run at hand-in."""


class RecordedAnswer(Struct, frozen=True, array_like=True, kw_only=True):
    """A question, as a digest and the sums of its tensors, and its answer as plain data."""

    digest: str
    sums: list[float]
    answer: Any


class RecordedFailure(Struct, frozen=True, array_like=True, kw_only=True):
    """How a variant fails a check: the kind of failure, and the observed value as plain data."""

    kind: str
    value: Any


class Index(Struct, frozen=True, kw_only=True):
    """The recording at one seed: answers by check and size case, in order, and failures by variant and check."""

    answers: dict[str, dict[str, list[RecordedAnswer]]]
    failures: dict[str, dict[str, RecordedFailure]]


class Recorder:
    """Collects the answers of one seed after another."""

    def __init__(self) -> None:
        self._tensors: dict[str, torch.Tensor] = {}

    def add(
        self,
        seed: int,
        answers: dict[str, dict[str, list[tuple[Question, Any]]]],
        failures: dict[str, dict[str, tuple[str, Any]]],
        compared: Mapping[str, frozenset[str]] = {},
    ) -> None:
        """Add a seed.

        `answers` are the questions with their answers, by check and size case. `failures` are the kinds of failure with
        the deviations, by variant and check. `compared` are the dtypes of values that a check only compares, so that
        these can be rounded.
        """
        pool = _TensorPool()
        index = Index(
            answers={
                check: {
                    name: [_recorded_answer(*each, compared.get(check, frozenset()), pool) for each in known]
                    for name, known in size_cases.items()
                }
                for check, size_cases in answers.items()
            },
            failures={
                variant: {
                    check: RecordedFailure(kind=kind, value=_to_plain(value, pool))
                    for check, (kind, value) in failed.items()
                }
                for variant, failed in failures.items()
            },
        )
        self._tensors |= {f"{seed}/{dtype}": pack(tensor) for dtype, tensor in pool.flat_tensors().items()}
        index_bytes = torch.frombuffer(bytearray(msgspec.json.encode(index)), dtype=torch.uint8)
        self._tensors[f"{seed}/{INDEX}"] = pack(index_bytes)

    def content(self) -> bytes:
        """Return the bytes of the safetensors file."""
        return save(self._tensors)


class _TensorPool:
    """The tensors of one seed. Equal tensors are stored once."""

    def __init__(self) -> None:
        self._parts: dict[str, list[torch.Tensor]] = {}
        self._starts: dict[tuple[str, tuple[int, ...], bytes], int] = {}
        self._lengths: dict[str, int] = {}

    def add(self, tensor: torch.Tensor) -> list[Any]:
        """Return where the tensor is stored: its dtype, its shape and the index of its first element."""
        tensor = tensor.detach().contiguous()
        dtype, shape = DTYPE_NAMES[tensor.dtype], tuple(tensor.shape)
        key = dtype, shape, bytes(from_tensor(tensor).data)
        if key not in self._starts:
            self._starts[key] = self._lengths.get(dtype, 0)
            self._lengths[dtype] = self._starts[key] + tensor.numel()
            self._parts.setdefault(dtype, []).append(tensor.flatten())
        return [dtype, list(shape), self._starts[key]]

    def flat_tensors(self) -> dict[str, torch.Tensor]:
        return {dtype: torch.cat(parts) for dtype, parts in self._parts.items()}


def _failed(check: str, signature: str) -> Outcome:
    """Return the outcome of a check that a variant failed, from the signature of its finding."""
    kind, detail = parse_kind(signature)
    return Outcome(check=check, status=Status.FAILED, finding=Finding(kind=kind, detail=detail))


class Recording:
    """Reads a file of recorded answers; raises `KitError` if the file is damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: dict[int, Index] = {}
        self._flat_tensors: dict[str, torch.Tensor] = {}
        with self._damage_reported():
            self._file = safe_open(path, framework="pt")
            self.seeds = sorted({int(name.partition("/")[0]) for name in self._file.keys()})  # noqa: SIM118 - no dict
            if not self.seeds:
                raise ValueError("it has no answers")

    def seed_for(self, seed: int) -> int:
        """Return the seed if it was recorded, else one of the recorded seeds."""
        return seed if seed in self.seeds else self.seeds[seed % len(self.seeds)]

    def recorded_answers(self, seed: int, check: str, size_case: str) -> "RecordedAnswers":
        """Return the recorded answers of one size case of a check."""
        return RecordedAnswers(
            self._index(seed).answers.get(check, {}).get(size_case, []), lambda plain: self._value(seed, plain)
        )

    def examination(self, seed: int, variant: str) -> Examination:
        """Return the failed checks of a variant with their deviations."""
        failed = self._index(seed).failures.get(variant, {})
        outcomes = [_failed(check, each.kind) for check, each in failed.items()]
        values = {check: self._value(seed, each.value) for check, each in failed.items()}
        deviations = {check: value for check, value in values.items() if value is not None}
        return Examination(outcomes=outcomes, deviations=deviations)

    def _index(self, seed: int) -> Index:
        if seed not in self.seeds:
            return Index(answers={}, failures={})
        if seed not in self._opened:
            with self._damage_reported():
                content = unpack(self._file.get_tensor(f"{seed}/{INDEX}"), torch.uint8)
                self._opened[seed] = msgspec.json.decode(content.numpy().tobytes(), type=Index)
        return self._opened[seed]

    def _value(self, seed: int, plain: Any) -> Any:
        with self._damage_reported():
            return _from_plain(plain, lambda dtype, shape, start: self._tensor(f"{seed}/{dtype}", shape, start))

    def _tensor(self, name: str, shape: list[int], start: int) -> torch.Tensor:
        if name not in self._flat_tensors:
            dtype = TORCH_DTYPES[name.partition("/")[2]]
            self._flat_tensors[name] = unpack(self._file.get_tensor(name), dtype)
        return self._flat_tensors[name].narrow(0, start, torch.Size(shape).numel()).reshape(shape).clone()

    @contextmanager
    def _damage_reported(self) -> Iterator[None]:
        try:
            yield
        except (OSError, SafetensorError, msgspec.MsgspecError, *DAMAGE) as error:
            message = f"{self._path} is missing or damaged ({error}); download the student edition again"
            raise KitError(message) from None


DAMAGE = (zlib.error, AttributeError, KeyError, IndexError, TypeError, ValueError, RuntimeError, OverflowError)
"""Exceptions from reading an index that does not fit its tensors."""


class RecordedAnswers:
    """The recorded answers of one size case. They are returned in order, each only for its own question."""

    def __init__(self, entries: list[RecordedAnswer], decode: Callable[[Any], Any]) -> None:
        self._entries = entries
        self._decode = decode
        self._next = 0

    def answer(self, question: Question) -> Any:
        """Return the reference's answer; raise `NotRecordedError` if the question was not recorded."""
        digest, sums = _digest_of(question)
        for step in range(len(self._entries)):
            index = (self._next + step) % len(self._entries)
            entry = self._entries[index]
            if entry.digest == digest and _are_close(entry.sums, sums):
                self._next = index + 1
                return self._decode(entry.answer)
        raise NotRecordedError("no answer to this question was recorded")


def _recorded_answer(question: Question, answer: Any, compared: frozenset[str], pool: _TensorPool) -> RecordedAnswer:
    """Return a question with its answer, in which values of the dtypes in `compared` are rounded."""
    digest, sums = _digest_of(question)
    return RecordedAnswer(digest=digest, sums=sums, answer=_to_plain(_rounded_answer(question, answer, compared), pool))


def _rounded_answer(question: Question, answer: Any, dtypes: frozenset[str]) -> Any:
    """Return the answer to a call with rounded values and gradients; other answers, such as weights, as they are."""
    if isinstance(answer, Pass):  # the cotangents are also handed to the submission
        return structs.replace(
            answer,
            value=_rounded(answer.value, TOLERANCES, dtypes),
            parameters=_rounded(answer.parameters, GRADIENT_TOLERANCES, dtypes),
            inputs=_rounded(answer.inputs, GRADIENT_TOLERANCES, dtypes),
        )
    match question:
        case CallMethod(method="call"):
            return _rounded(answer, TOLERANCES, dtypes)
        case CallMethod(method="run_probe", inputs={"calls": calls}):
            return [_rounded_reply(each, call, dtypes) for each, call in zip(answer, from_plain(calls), strict=False)]
    return answer


def _rounded_reply(reply: Any, call: VariantCall, dtypes: frozenset[str]) -> Any:
    """Return the rounded answer to a call in a calling variant: a value or, if compared, a value and gradients."""
    if call.variant.dtype is Dtype.FLOAT64:
        dtypes -= {"float32"}
    if not call.compares_gradients:
        return _rounded(reply, TOLERANCES, dtypes)
    value, *gradients = reply
    return (_rounded(value, TOLERANCES, dtypes), *(_rounded(each, GRADIENT_TOLERANCES, dtypes) for each in gradients))


def _rounded(value: Any, tolerances: dict[torch.dtype, Tolerance], dtypes: frozenset[str]) -> Any:
    """Return the value with its numbers of these dtypes rounded towards zero, so that none becomes infinite."""

    def rounded(tensor: torch.Tensor) -> torch.Tensor:
        if DTYPE_NAMES[tensor.dtype] not in dtypes:
            return tensor
        exact = tensor.detach().double()
        tolerance, for_large = tolerances[tensor.dtype], LARGE_TOLERANCES[tensor.dtype].for_values(tensor)
        allowed = (tolerance.absolute + tolerance.relative * exact.abs()).clamp(max=for_large.absolute) / FINENESS
        step = torch.exp2(allowed.log2().floor())
        result = (exact / step).trunc() * step
        return torch.where(result.isfinite(), result, exact).to(tensor.dtype)

    return map_tensors(value, rounded)


def pack(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor as compressed bytes: first the first bytes of all elements, then the second ones, and so on."""
    planes = tensor.view(torch.uint8).reshape(tensor.numel(), tensor.element_size()).T.contiguous()
    return torch.frombuffer(bytearray(zlib.compress(planes.numpy().tobytes())), dtype=torch.uint8)


def unpack(packed: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Reverse `pack`."""
    content = bytearray(zlib.decompress(packed.numpy().tobytes()))
    if not content:
        return torch.empty(0, dtype=dtype)
    planes = torch.frombuffer(content, dtype=torch.uint8)
    return planes.reshape(dtype.itemsize, -1).T.contiguous().flatten().view(dtype)


def _digest_of(question: Question) -> tuple[str, list[float]]:
    """Return a digest of the question's texts and shapes, and the sum of each tensor in it."""
    sums: list[float] = []
    text = msgspec.json.encode(_outline(structs.asdict(question), sums), order="sorted")
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


def _are_close(sums: list[float], others: list[float]) -> bool:
    return all(abs(one - other) <= CLOSE * (1 + abs(one)) for one, other in zip(sums, others, strict=True))


def _to_plain(value: Any, pool: _TensorPool) -> Any:
    """Return a value in a form that JSON can store: `{kind: content}` for types that JSON does not have."""
    match value:
        case torch.Tensor():
            return {"tensor": pool.add(value)}
        case Pass():
            fields = (value.value, value.cotangents, value.parameters, value.inputs)
            return {"pass": [_to_plain(each, pool) for each in fields]}
        case torch.Size():
            return {"size": list(value)}
        case tuple():
            return {"tuple": [_to_plain(each, pool) for each in value]}
        case list():
            return [_to_plain(each, pool) for each in value]
        case frozenset():
            return {"set": sorted(value)}
        case dict():
            return {"dict": {name: _to_plain(each, pool) for name, each in value.items()}}
    return value


def _from_plain(plain: Any, tensor: Callable[[str, list[int], int], torch.Tensor]) -> Any:
    """Reverse `_to_plain`; `tensor` returns a stored tensor by dtype, shape and start."""
    if isinstance(plain, list):
        return [_from_plain(each, tensor) for each in plain]
    if not isinstance(plain, dict):
        return plain
    ((kind, content),) = plain.items()
    match kind:
        case "tensor":
            return tensor(*content)
        case "pass":
            value, cotangents, parameters, inputs = (_from_plain(each, tensor) for each in content)
            return Pass(value=value, cotangents=cotangents, parameters=parameters, inputs=inputs)
        case "size":
            return torch.Size(content)
        case "tuple":
            return tuple(_from_plain(each, tensor) for each in content)
        case "set":
            return frozenset(content)
        case "dict":
            return {name: _from_plain(each, tensor) for name, each in content.items()}
    raise ValueError(f"unknown kind of value {kind!r}")
