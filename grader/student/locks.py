"""Locks: explanations in a sealed edition, each readable once a submission gives answers that the edition lacks.

The key of a lock is derived from numbers that the reference answered to questions of a seed that was not recorded.
Right code gives the same numbers, up to rounding. A variant with the defect gives different numbers.
"""

import base64
import secrets
from collections.abc import Iterable, Sequence

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


class Place(Struct, frozen=True, kw_only=True):
    """One number of a key: its index in all answers, and the size of a step there."""

    index: int
    step: float


class Lock(Struct, frozen=True, kw_only=True):
    """An encrypted text, with the places of the numbers that its key is derived from."""

    places: list[Place]
    salt: bytes
    text: bytes

    def open(self, answers: torch.Tensor) -> str | None:
        """Return the text if the answers, float64 of shape (N,), are those of right code."""
        if any(place.index >= answers.numel() for place in self.places):
            return None
        try:
            return Fernet(_key(answers, self.places, self.salt)).decrypt(self.text).decode()
        except InvalidToken:
            return None


def make_lock(
    text: str,
    right: torch.Tensor,
    steps: torch.Tensor,
    *,
    also_right: Sequence[torch.Tensor] = (),
    wrong: Sequence[torch.Tensor],
) -> Lock | None:
    """Encrypt a text with a key that follows from right answers and not from wrong ones.

    `right` and `steps` have the shape (N,); other answers may be shorter. Return None if there are not enough numbers
    in which all wrong answers differ: then the values that are compared at home do not distinguish right from wrong.
    """
    fraction = right / steps - torch.floor(right / steps)
    is_usable = torch.isfinite(right) & (steps > 0) & (fraction > MARGIN) & (fraction < 1 - MARGIN)
    for each in also_right:
        is_usable &= ~_differs(right, MARGIN / 2 * steps, each)
    differences = [_differs(right, LEAST_DIFFERENCE * steps, each) for each in wrong]
    count = max(MAX_PLACES // max(len(differences), 1), LEAST_PLACES)
    chosen = [_spread(is_usable & differs, count) for differs in differences]
    indexes = torch.unique(torch.cat(chosen)) if chosen else _spread(is_usable, count)
    if any(int(differs[indexes].sum()) < LEAST_PLACES for differs in differences) or not len(indexes):
        return None
    places = [Place(index=index, step=float(steps[index])) for index in indexes.tolist()]
    salt = secrets.token_bytes(16)
    return Lock(places=places, salt=salt, text=Fernet(_key(right, places, salt)).encrypt(text.encode()))


def steps_of(answers: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the size of a step for each number of the answers, as one tensor of shape (N,); 0 in a tiny answer."""
    return as_numbers(torch.full((each.numel(),), _step_of(each), dtype=torch.float64) for each in answers)


def _step_of(answer: torch.Tensor) -> float:
    """Return the size of a step in one answer, of shape (N,); 0 if the answer is tiny."""
    size = float(answer.double().nan_to_num(posinf=0, neginf=0).square().mean().sqrt())
    is_half = torch.finfo(answer.dtype).bits < torch.finfo(torch.float32).bits
    return size / (STEPS_OF_HALVES if is_half else STEPS) if size > LEAST_SIZE else 0.0


def as_numbers(answers: Iterable[torch.Tensor]) -> torch.Tensor:
    """Return flat tensors as one, float64 of shape (N,)."""
    return torch.cat([torch.empty(0, dtype=torch.float64), *(each.double() for each in answers)])


def _differs(right: torch.Tensor, tolerance: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return where other answers are missing or not within the tolerance of the right ones, shape (N,)."""
    differs = torch.ones_like(right, dtype=torch.bool)
    common = min(right.numel(), other.numel())
    distance = (right[:common] - other[:common]).abs()
    differs[:common] = ~(distance < tolerance[:common])  # a NaN differs
    return differs


def _spread(mask: torch.Tensor, count: int) -> torch.Tensor:
    """Return the indexes of at most `count` true elements, spread evenly."""
    indexes = mask.nonzero().flatten()
    if len(indexes) <= count:
        return indexes
    return indexes[torch.linspace(0, len(indexes) - 1, count).long()]


def _key(answers: torch.Tensor, places: list[Place], salt: bytes) -> bytes:
    """Return a key for Fernet from the step in which each number lies."""
    codes = [torch.floor(answers[place.index] / place.step).nan_to_num().long().item() for place in places]
    derived = Scrypt(salt=salt, length=32, n=SCRYPT_COST, r=8, p=1).derive(",".join(map(str, codes)).encode())
    return base64.urlsafe_b64encode(derived)
