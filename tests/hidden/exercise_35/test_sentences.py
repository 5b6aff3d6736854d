"""Sentences without filling."""

# B batch, T words, W width

import torch

from grader.checks.compare import number, require_shape, require_tensor
from grader.checks.tolerances import UNCHANGED
from grader.testing import Failure

B, T, W = 3, 6, 12
ARGUMENTS = {"width": W, "heads": 2}


def test_a_word_does_not_see_what_comes_after_it(subject, gaussian):
    module = subject.build(ARGUMENTS)
    x, real = gaussian(B, T, W), torch.ones(B, T, dtype=torch.bool)
    changed = torch.cat([x[:, : T - 1], gaussian(B, 1, W)], dim=1)
    before, after = module(x=x, real=real), module(x=changed, real=real)
    for seen in (before, after):
        require_tensor(seen, "output")
        require_shape(seen, [B, T, W], "output")
    moved = float((after - before)[:, : T - 1].abs().max())
    if not moved <= UNCHANGED.absolute:
        raise Failure("leak", f"changing the last word changed the output before it by {number(moved)}; expected none")
