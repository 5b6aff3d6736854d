"""What was recorded of a reference answers in its place: the same to the same questions, in order, and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from grader.author.sealing import Tape, WatchedReference
from grader.checks.case import seed_draws
from grader.checks.compare import compare
from grader.checks.recording import NotRecordedError, Recording
from grader.checks.reference import AbsentReference
from grader.checks.reference_cache import ReferenceCache
from grader.errors import KitError
from grader.spec.interface import Interface

SOURCE = """
import torch


class Model(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner = torch.nn.Linear(size, 3)
        self.norm = torch.nn.LayerNorm(3)
        self.last = torch.nn.Parameter(torch.randn(size))
        self.odd = torch.nn.Parameter(torch.randperm(size).float() / 7)

    def forward(self, x):
        dropped = torch.nn.functional.dropout(x + self.odd, 0.5, self.training)
        return self.norm(self.inner(dropped)), [x * self.last, None, "said"]
"""

Check = Callable[[ReferenceCache], list[object]]


def differentiates(cache: ReferenceCache) -> list[object]:
    module = cache(size=4)
    weights = {name: weight.clone() for name, weight in module.weights().items()}
    x = torch.randn(2, 4)
    passed = module.differentiate(None, x=x)
    return [weights, x, passed.value, passed.cotangents, passed.parameters, passed.inputs, torch.randn(3)]


def trains(cache: ReferenceCache) -> list[object]:
    module = cache.build({"size": 5}, dtype="float64")
    module.training = True
    x = torch.randn(2, 5).double()
    return [module(x=x), torch.randn(2), module(x=x), torch.randn(2), module.attribute("odd")]


def run(cache: ReferenceCache, check: Check) -> list[object]:
    cache.begin(check.__name__, 7, "float32")
    cache.draw("7/size case", lambda: seed_draws("7/size case"))
    return check(cache)


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[ReferenceCache, ReferenceCache]:
    """A reference that was recorded, and what answers in its place."""
    path = tmp_path / "exercise_01" / "attention.py"
    path.parent.mkdir()
    path.write_text(SOURCE)
    cache = ReferenceCache(WatchedReference(path, Interface(class_name="Model", constructor={}, inputs={}, outputs=[])))
    for check in (differentiates, trains):
        run(cache, check)
    tape = Tape()
    tape.note_answers(7, cache.known())
    file = tmp_path / "answers.safetensors"
    file.write_bytes(tape.content())
    return cache, ReferenceCache(AbsentReference(), Recording(file))


@pytest.mark.parametrize("check", [differentiates, trains])
def test_a_recording_answers_as_the_reference_did_and_what_is_drawn_in_between_is_the_same(recorded, check):
    theirs, ours = (run(cache, check) for cache in recorded)
    for seen, expected in zip(ours, theirs, strict=True):
        require_same(seen, expected)


def require_same(seen: object, expected: object) -> None:
    assert type(seen) is type(expected)
    if isinstance(expected, dict):
        assert isinstance(seen, dict)
        assert seen.keys() == expected.keys()
        for name, value in expected.items():
            require_same(seen[name], value)
    elif isinstance(expected, tuple | list):
        assert isinstance(seen, tuple | list)
        for one, other in zip(seen, expected, strict=True):
            require_same(one, other)
    else:
        compare(seen, expected, "a recorded answer")


def test_what_was_not_asked_is_not_answered(recorded):
    _, cache = recorded
    cache.begin("differentiates", 7, "float32")
    cache.draw("7/size case", lambda: seed_draws("7/size case"))
    with pytest.raises(NotRecordedError):
        cache(size=5)
    cache.begin("differentiates", 7, "float32")
    cache.draw("7/size case", lambda: seed_draws("7/size case"))
    module = cache(size=4)
    with pytest.raises(NotRecordedError):
        module.differentiate(None, x=torch.randn(2, 4) + 1)
    cache.begin("another", 7, "float32")
    with pytest.raises(NotRecordedError):
        cache(size=4)


def test_inputs_that_another_processor_rounds_otherwise_are_the_same_question(recorded):
    _, cache = recorded
    cache.begin("differentiates", 7, "float32")
    cache.draw("7/size case", lambda: seed_draws("7/size case"))
    module = cache(size=4)
    weights = module.weights()
    x = torch.randn(2, 4)
    passed = module.differentiate(None, x=x * (1 + 2e-7))
    assert passed.parameters.keys() == weights.keys()


def test_no_recording_is_told_as_such(tmp_path):
    for content in (b"", b"12345678{", b"\x02\0\0\0\0\0\0\0{}"):
        path = tmp_path / "answers.safetensors"
        path.write_bytes(content)
        with pytest.raises(KitError, match="get the edition anew"):
            Recording(path)
