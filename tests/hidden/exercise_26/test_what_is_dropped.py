"""What is dropped, how much of it, and whether a call before changes it."""

# B batch, W width, H hidden

import torch

from grader.checks.compare import compare, number, require_shape, require_tensor
from grader.checks.tolerances import FLOAT32
from grader.testing import Failure

B, W, H = 40, 12, 9
CHANCE = 0.25
FEWEST, MOST = 0.15, 0.36
"""Of 480 entries dropped with a chance of 0.25, so many are with a probability of more than 0.999999."""


def share_dropped(module, x, y):
    """The share of y's entries that are missing in training mode; the others have to be y / (1 - CHANCE)."""
    module.training = True
    seen = module(x=x)
    require_tensor(seen, "output in training mode")
    require_shape(seen, list(x.shape), "output in training mode")
    added = seen - x
    is_dropped = added.abs() <= FLOAT32.absolute
    compare(torch.where(is_dropped, added, y / (1 - CHANCE)), added, f"outer={CHANCE}, what is not dropped")
    return float(is_dropped.double().mean())


def require_share(share, item):
    if not FEWEST <= share <= MOST:
        raise Failure("share", f"{item}, outer={CHANCE}: expected about that share dropped, got {number(share)}")


def outer_alone(subject, reference, gaussian, variation=""):
    arguments = {"width": W, "hidden": H, "inner": 0.0, "outer": CHANCE}
    theirs = reference.build(arguments)
    x = gaussian(B, W)
    return subject.build(arguments, like=theirs, variation=variation), x, theirs(x=x) - x


def test_a_layer_just_built_drops_its_share(subject, reference, gaussian):
    require_share(share_dropped(*outer_alone(subject, reference, gaussian)), "a layer just built")


def test_an_evaluation_leaves_nothing_behind(subject, reference, gaussian):
    module, x, y = outer_alone(subject, reference, gaussian, "EvaluatedInBetween")
    for _ in range(2):
        module.training = False
        compare(module(x=x), x + y, "in eval mode, between training steps: output")
        require_share(share_dropped(module, x, y), "in training mode, after an evaluation")
