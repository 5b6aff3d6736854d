"""Locks: explanations in a sealed edition, each readable once a submission gives answers that the edition lacks.

The key of a lock is derived from numbers that the reference answered to questions of a seed that was not recorded.
Right code gives the same numbers, up to rounding. A variant with the defect gives different numbers.
"""

import base64
import math
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import nan

import torch
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from msgspec import Struct

STEPS = 2**8
"""Steps into which the root mean square of an answer is divided."""

STEPS_OF_HALVES = 2**4
"""The number of steps in an answer in float16 or bfloat16: right code may round its numbers by 1/256."""

LEAST_SIZE = 1e-3
"""The least root mean square of an answer whose numbers are used. A gradient of zero consists of rounding errors."""

MARGIN = 0.3
"""The least distance, in steps, between a number of the key and the ends of its step: right code rounds differently."""

LEAST_DIFFERENCE = 16
"""The least difference, in steps, between a variant's number and the reference's."""

MAX_PLACES, LEAST_PLACES = 32, 8
"""The most and the fewest numbers in a key. Each adds about five bits, and each guess takes a twentieth of a second."""

SCRYPT_COST = 2**14


Numbers = Mapping[str, torch.Tensor]
"""A submission's numbers: for each of its answers, float64 of shape (N,)."""


class Place(Struct, frozen=True, kw_only=True):
    """One number of a key: its answer, its index there, and the size of a step."""

    answer: str
    index: int
    step: float


class Lock(Struct, frozen=True, kw_only=True):
    """An encrypted text, with the places of the numbers that its key is derived from."""

    places: list[Place]
    salt: bytes
    text: bytes

    def open(self, numbers: Numbers) -> str | None:
        """Return the text if the numbers are those of right code."""
        if any(place.answer not in numbers or place.index >= len(numbers[place.answer]) for place in self.places):
            return None
        try:
            return Fernet(_key(numbers, self.places, self.salt)).decrypt(self.text).decode()
        except InvalidToken:
            return None


def make_lock(
    text: str,
    right: Numbers,
    steps: Mapping[str, float],
    *,
    also_right: Sequence[Numbers] = (),
    wrong: Sequence[Numbers],
) -> Lock | None:
    """Encrypt a text with a key that follows from right numbers and not from wrong ones.

    `steps` maps each answer to the size of its steps. A missing number counts as wrong. Return None if there are not
    enough numbers in which each of the `wrong` differs: then the values that are compared at home do not distinguish
    right from wrong.
    """
    at = [(answer, index) for answer, found in right.items() for index in range(len(found))]
    flat = _in_line(right, right)
    sizes = _flat(torch.full_like(found, steps[answer]) for answer, found in right.items())
    fraction = flat / sizes - torch.floor(flat / sizes)
    is_usable = torch.isfinite(flat) & (sizes > 0) & (fraction > MARGIN) & (fraction < 1 - MARGIN)
    for each in also_right:
        is_usable &= ~_differs(flat, MARGIN / 2 * sizes, _in_line(each, right))
    differences = [_differs(flat, LEAST_DIFFERENCE * sizes, _in_line(each, right)) for each in wrong]
    count = max(MAX_PLACES // max(len(differences), 1), LEAST_PLACES)
    chosen = [_spread(is_usable & differs, count) for differs in differences]
    indexes = torch.unique(torch.cat(chosen)) if chosen else _spread(is_usable, count)
    if any(int(differs[indexes].sum()) < LEAST_PLACES for differs in differences) or not len(indexes):
        return None
    places = [Place(answer=at[index][0], index=at[index][1], step=steps[at[index][0]]) for index in indexes.tolist()]
    salt = secrets.token_bytes(16)
    return Lock(places=places, salt=salt, text=Fernet(_key(right, places, salt)).encrypt(text.encode()))


def numbers_of(answers: Mapping[str, Sequence[torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Return the numbers of the answers of each size case."""
    return {
        f"{size_case}/{number}": answer.double()
        for size_case, tensors in answers.items()
        for number, answer in enumerate(tensors)
    }


def steps_of(answers: Mapping[str, Sequence[torch.Tensor]]) -> dict[str, float]:
    """Return the size of a step in each answer; 0 in a tiny answer."""
    return {
        f"{size_case}/{number}": _step_of(answer)
        for size_case, tensors in answers.items()
        for number, answer in enumerate(tensors)
    }


def with_incomplete(numbers: Numbers, right: Numbers, incomplete: Collection[str]) -> dict[str, torch.Tensor]:
    """Return the numbers, and the right numbers where a size case is incomplete and an answer is missing."""
    missing = {answer for answer in right.keys() - numbers.keys() if answer.rpartition("/")[0] in incomplete}
    return {**numbers, **{answer: right[answer] for answer in missing}}


def _step_of(answer: torch.Tensor) -> float:
    """Return the size of a step in one answer, of shape (N,); 0 if the answer is tiny.

    It is a power of 2, so that it does not tell the root mean square of the right answer.
    """
    size = float(answer.double().nan_to_num(posinf=0, neginf=0).square().mean().sqrt())
    is_half = torch.finfo(answer.dtype).bits < torch.finfo(torch.float32).bits
    return 2.0 ** math.floor(math.log2(size / (STEPS_OF_HALVES if is_half else STEPS))) if size > LEAST_SIZE else 0.0


def _in_line(numbers: Numbers, right: Numbers) -> torch.Tensor:
    """Return the numbers in the order of the right ones, shape (N,); NaN where one is missing."""
    return _flat(
        numbers[answer] if answer in numbers and numbers[answer].shape == found.shape else torch.full_like(found, nan)
        for answer, found in right.items()
    )


def _flat(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    return torch.cat([torch.empty(0, dtype=torch.float64), *tensors])


def _differs(right: torch.Tensor, tolerance: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return where other numbers are NaN or not within the tolerance of the right ones, shape (N,)."""
    return ~((right - other).abs() < tolerance)


def _spread(mask: torch.Tensor, count: int) -> torch.Tensor:
    """Return the indexes of at most `count` true elements, spread evenly."""
    indexes = mask.nonzero().flatten()
    if len(indexes) <= count:
        return indexes
    return indexes[torch.linspace(0, len(indexes) - 1, count).long()]


def _key(numbers: Numbers, places: list[Place], salt: bytes) -> bytes:
    """Return a key for Fernet from the step in which each number lies."""
    found = [numbers[place.answer][place.index] / place.step for place in places]
    codes = [torch.floor(each).nan_to_num().long().item() for each in found]
    derived = Scrypt(salt=salt, length=32, n=SCRYPT_COST, r=8, p=1).derive(",".join(map(str, codes)).encode())
    return base64.urlsafe_b64encode(derived)
