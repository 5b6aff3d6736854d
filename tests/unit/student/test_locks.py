"""Locks are opened by right answers, however they are rounded, and by no wrong ones."""

import torch

from grader.student.locks import as_numbers, make_lock, steps_of

TEXT = "an explanation"


def answers(seed: int, rounding: float, *, wrong: bool = False) -> list[torch.Tensor]:
    """Return an answer, and a gradient that is zero apart from rounding errors."""
    generator = torch.Generator().manual_seed(seed)
    value = torch.linspace(-1, 1, 500) * (2 if wrong else 1)
    return [value + rounding, 1e-8 * torch.randn(500, generator=generator)]


def test_the_rounding_errors_of_a_zero_are_no_part_of_a_key() -> None:
    right, wrong = answers(0, 0.0), answers(1, 0.0, wrong=True)
    lock = make_lock(TEXT, as_numbers(right), steps_of(right), wrong=[as_numbers(wrong)])
    assert lock is not None
    assert lock.open(as_numbers(answers(2, 1e-6))) == TEXT
    assert lock.open(as_numbers(wrong)) is None


def test_answers_in_half_precision_may_be_rounded_otherwise() -> None:
    right = [torch.linspace(-1, 1, 500).bfloat16()]
    other = [right[0] * (1 + 2**-8)]
    lock = make_lock(TEXT, as_numbers(right), steps_of(right), wrong=[as_numbers(right) * 3])
    assert not torch.equal(right[0], other[0])
    assert lock is not None
    assert lock.open(as_numbers(other)) == TEXT
