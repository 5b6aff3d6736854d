"""A variation overrides `forward`, whatever the submission's class does with its own."""

import copy

import pytest
import torch

from grader.sandbox.overriding import let_override_forward


class Assigned(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = 1.0
        self.forward = self.compute

    def compute(self, x):
        if x < 0:
            raise ValueError("negative")
        return x + self.shift


class CallingItself(torch.nn.Module):
    def forward(self, x):
        return x if x < 2 else self(x - 2) + self.forward(x - 2)


def tenfold(base):
    class Tenfold(base):
        def forward(self, x):
            return 10 * super().forward(x)

    let_override_forward(Tenfold, {Tenfold})
    return Tenfold()


def test_an_assigned_forward_is_called_by_super_also_in_a_copy_and_after_an_exception():
    module = tenfold(Assigned)
    assert module(2.0) == 30.0
    with pytest.raises(ValueError, match="negative"):
        module(-1.0)
    copied = copy.deepcopy(module)
    copied.shift = 2.0
    assert (module(2.0), copied(2.0)) == (30.0, 40.0)


def test_a_module_that_calls_itself_calls_its_own_forward():
    assert tenfold(CallingItself)(5.0) == 40.0


def test_a_variation_without_a_forward_of_its_own_leaves_an_assigned_one():
    class Plain(Assigned):
        pass

    let_override_forward(Plain, {Plain})
    assert Plain()(2.0) == 3.0
