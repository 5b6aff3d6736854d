"""Answers of the reference are looked up at the same seed, and never used for another question."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from grader.checks.reference import Reference
from grader.checks.reference_cache import ReferenceCache
from grader.errors import KitError
from tests.support.exercises import make_exercise

SOURCE = """
import torch


CALLS = []


class Scale(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(size))

    def forward(self, x):
        CALLS.append(x.shape)
        if x.shape[-1] != len(self.weight):
            raise ValueError("sizes differ")
        return x * self.weight

    def doubled(self, x):
        CALLS.append(x.shape)
        with torch.no_grad():
            self.weight.mul_(2)
        return self.weight
"""

Check = Callable[[ReferenceCache], torch.Tensor]


@pytest.fixture
def cache(tmp_path: Path) -> ReferenceCache:
    path = tmp_path / "exercise_01" / "attention.py"
    path.parent.mkdir()
    path.write_text(SOURCE)
    return ReferenceCache(Reference(path, make_exercise("Scale")))


def run(cache: ReferenceCache, check: Check) -> torch.Tensor:
    """One run of a check, as for every submission; the next run finds the answers that it cached."""
    while True:
        cache.begin("check", 7, "float32")
        torch.manual_seed(7)
        try:
            seen = check(cache)
        except KitError:
            seen = torch.empty(0)
        if not cache.is_to_be_repeated():
            return seen


def calls(cache: ReferenceCache) -> int:
    return len(vars(cache._reference._module)["CALLS"])


def two_modules(cache: ReferenceCache) -> torch.Tensor:
    cache(size=3)(x=torch.ones(3))
    return cache(size=3)(x=torch.ones(3))


def two_modules_of_which_one_raises(cache: ReferenceCache) -> torch.Tensor:
    with pytest.raises(ValueError, match="sizes differ"):
        cache(size=3)(x=torch.ones(4))
    return cache(size=3)(x=torch.ones(3))


def test_an_earlier_answer_is_looked_up(cache: ReferenceCache) -> None:
    first = run(cache, two_modules)
    assert torch.equal(run(cache, two_modules), first)
    assert calls(cache) == 2


def test_a_size_case_that_a_run_visits_twice_is_computed_once_for_each_visit(cache: ReferenceCache) -> None:
    def draw_inputs() -> torch.Tensor:
        torch.manual_seed(1)
        return torch.randn(3)

    def fails_and_runs_again(cache: ReferenceCache) -> torch.Tensor:
        values = []
        for calls_in_visit in (1, 2):
            given = cache.draw("small", draw_inputs)
            module = cache(size=3)
            values += [module(x=given) for _ in range(calls_in_visit)]
        return torch.stack(values)

    first = run(cache, fails_and_runs_again)
    assert torch.equal(first[0], first[1])  # a second visit draws the same inputs and weights
    assert torch.equal(run(cache, fails_and_runs_again), first)
    assert calls(cache) == 3


def test_where_the_reference_raised_within_a_check_the_next_submission_meets_the_same_modules(
    cache: ReferenceCache,
) -> None:
    first = run(cache, two_modules_of_which_one_raises)
    for _ in range(3):
        assert torch.equal(run(cache, two_modules_of_which_one_raises), first)


def test_a_check_that_ended_early_is_followed_by_one_that_goes_on(cache: ReferenceCache) -> None:
    def until_the_first_call(cache: ReferenceCache) -> torch.Tensor:
        return cache(size=3)(x=torch.ones(3))

    run(cache, until_the_first_call)
    assert not torch.equal(run(cache, two_modules), run(cache, until_the_first_call))
    assert torch.equal(run(cache, two_modules), run(ReferenceCache(cache._reference), two_modules))
    assert calls(cache) == 2 + 2


def test_a_check_that_asks_something_else_gets_what_it_would_have_got_first(cache: ReferenceCache) -> None:
    def of_other_sizes(cache: ReferenceCache) -> torch.Tensor:
        cache(size=3)(x=torch.ones(3))
        return cache(size=4)(x=torch.ones(4))

    run(cache, two_modules)
    assert torch.equal(run(cache, of_other_sizes), run(ReferenceCache(cache._reference), of_other_sizes))
    assert torch.equal(run(cache, two_modules), run(ReferenceCache(cache._reference), two_modules))


def test_an_answer_that_a_check_changed_is_not_reused(cache: ReferenceCache) -> None:
    def writes_to_weights(cache: ReferenceCache) -> torch.Tensor:
        module = cache(size=3)
        before = module.weights()["weight"].clone()
        module.weights()["weight"].zero_()
        return torch.stack([before, module(x=torch.ones(3))])

    first = run(cache, writes_to_weights)
    assert torch.equal(first[0], first[1])  # the module keeps its own weights
    assert torch.equal(run(cache, writes_to_weights), first)


def test_what_a_check_writes_to_after_looking_it_up_spoils_the_run_that_wrote_and_no_other(
    cache: ReferenceCache,
) -> None:
    def reads_weights(cache: ReferenceCache, *, writes: bool = False) -> torch.Tensor:
        module = cache(size=3)
        weights = module.weights()["weight"]
        before = weights.clone()
        if writes:
            weights.zero_()
        return torch.stack([before, module(x=torch.ones(3))])

    first = run(cache, reads_weights)
    assert torch.equal(first[0], first[1])
    assert torch.equal(run(cache, lambda cache: reads_weights(cache, writes=True)), first)
    assert torch.equal(run(cache, reads_weights), first)


def test_weights_stay_as_they_were_asked_for_when_the_module_changes_its_own(cache: ReferenceCache) -> None:
    def check(reference: ReferenceCache) -> torch.Tensor:
        module = reference.build({"size": 3})
        weights = module.weights()["weight"]
        return torch.cat([weights, module.call("doubled", x=torch.ones(3)) - 2 * weights])

    first, second = run(cache, check), run(cache, check)
    assert torch.equal(first, second)
    assert first[:3].abs().min() > 0
    assert torch.equal(first[3:], torch.zeros(3))
    assert calls(cache) == 1


def test_another_seed_and_another_dtype_are_other_answers(cache: ReferenceCache) -> None:
    run(cache, two_modules)
    cache.begin("check", 8, "float32")
    torch.manual_seed(8)
    other = two_modules(cache)
    assert not torch.equal(other, run(cache, two_modules))
