"""Locks are opened by right answers, however they are rounded, and by no wrong ones."""

import torch

from grader.student.locks import Lock, make_lock, numbers_of, steps_of, with_incomplete

TEXT = "an explanation"

Answers = dict[str, list[torch.Tensor]]


def answers(seed: int, rounding: float, *, wrong: bool = False) -> Answers:
    """Return an answer, and a gradient that is zero apart from rounding errors."""
    generator = torch.Generator().manual_seed(seed)
    value = torch.linspace(-1, 1, 500) * (2 if wrong else 1)
    return {"values/0": [value + rounding, 1e-8 * torch.randn(500, generator=generator)]}


def lock_against(right: Answers, wrong: Answers, *, incomplete: tuple[str, ...] = ()) -> Lock | None:
    known = with_incomplete(numbers_of(wrong), numbers_of(right), incomplete)
    return make_lock(TEXT, numbers_of(right), steps_of(right), wrong=[known])


def test_the_rounding_errors_of_a_zero_are_no_part_of_a_key() -> None:
    right, wrong = answers(0, 0.0), answers(1, 0.0, wrong=True)
    lock = lock_against(right, wrong)
    assert lock is not None
    assert lock.open(numbers_of(answers(2, 1e-6))) == TEXT
    assert lock.open(numbers_of(wrong)) is None


def test_answers_in_half_precision_may_be_rounded_otherwise() -> None:
    right = {"values/0": [torch.linspace(-1, 1, 500).bfloat16()]}
    other = {"values/0": [right["values/0"][0] * (1 + 2**-8)]}
    lock = lock_against(right, {"values/0": [right["values/0"][0] * 3]})
    assert not torch.equal(right["values/0"][0], other["values/0"][0])
    assert lock is not None
    assert lock.open(numbers_of(other)) == TEXT


def test_numbers_that_a_wrong_fix_has_right_are_no_part_of_a_key() -> None:
    """A missing answer before them moves none of them to another place."""
    right = {"values/0": [torch.linspace(1, 2, 50)], "values/1": [torch.linspace(3, 4, 50)]}
    wrong = {"values/0": [], "values/1": right["values/1"]}
    lock = lock_against(right, wrong)
    assert lock is not None
    assert {place.answer for place in lock.places} == {"values/0/0"}


def test_answers_that_a_failed_check_left_out_may_be_right() -> None:
    right = {"values/0": [torch.linspace(1, 2, 50)]}
    assert lock_against(right, {"values/0": []}, incomplete=("values/0",)) is None


def test_a_step_does_not_tell_the_size_of_the_answer() -> None:
    sizes = (0.6, 0.7, 0.9)
    assert len({steps_of({"values/0": [torch.full((50,), size)]})["values/0/0"] for size in sizes}) == 1
