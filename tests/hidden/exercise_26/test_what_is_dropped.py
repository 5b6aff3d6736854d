"""What is dropped, how much of it, and whether a call before changes it."""

# B batch, W width, H hidden

import torch

from grader.examiner.compare import FLOAT32, Failure, compare, number, require_shape, require_tensor

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


def require_share(share, what):
    if not FEWEST <= share <= MOST:
        raise Failure("share", f"{what}, outer={CHANCE}: expected about that share dropped, saw {number(share)}")


def outer_alone(subject, reference, gaussian):
    arguments = {"width": W, "hidden": H, "inner": 0.0, "outer": CHANCE}
    theirs = reference.build(arguments)
    x = gaussian(B, W)
    return subject.build(arguments, like=theirs), x, theirs(x=x) - x


def test_a_layer_just_built_drops_its_share(subject, reference, gaussian):
    require_share(share_dropped(*outer_alone(subject, reference, gaussian)), "a layer just built")


def test_an_evaluation_leaves_nothing_behind(subject, reference, gaussian):
    module, x, y = outer_alone(subject, reference, gaussian)
    for _ in range(2):
        module.training = False
        compare(module(x=x), x + y, "in eval mode, between training steps: output")
        require_share(share_dropped(module, x, y), "in training mode, after an evaluation")


def test_a_single_hidden_entry_is_kept_whole_or_dropped(subject, reference, gaussian):
    usual = {"width": W, "hidden": 1, "inner": 0.0, "outer": 0.0}
    theirs = reference.build(usual)
    ours = subject.build({**usual, "inner": CHANCE}, like=theirs)
    x = gaussian(B, W)
    kept = theirs(x=x) - x
    bias = theirs.weights()["down.bias"]
    ours.training = True
    added = ours(x=x) - x
    is_dropped = (added - bias).abs().amax(dim=1, keepdim=True) <= FLOAT32.absolute
    expected = torch.where(is_dropped, bias, bias + (kept - bias) / (1 - CHANCE))
    compare(added, expected, f"inner={CHANCE} and a single hidden entry, kept whole or dropped: what is added to x")


def test_the_usual_chances(subject, reference, gaussian):
    module = subject.build({"width": 60, "hidden": 50})
    x = gaussian(B, 60)
    module.training = True
    share = float(((module(x=x) - x).abs() == 0).double().mean())
    if not 0.07 < share < 0.13:
        raise Failure("share", f"the usual chances: expected a tenth dropped at the end, saw {number(share)}")
    again = module(x=x)
    if torch.equal(again, module(x=x)):
        raise Failure(
            "no-dropout", "the usual chances, in training mode: expected other draws, saw the same output twice"
        )
    theirs = reference.build({"width": 60, "hidden": 400, "inner": 0.1, "outer": 0.0})
    ours = subject.build({"width": 60, "hidden": 400, "outer": 0.0}, like=theirs)
    ours.training = theirs.training = True
    draws = torch.stack([ours(x=x) for _ in range(60)]).std(dim=0).mean()
    expected = torch.stack([theirs(x=x) for _ in range(60)]).std(dim=0).mean()
    if not 0.8 < float(draws / expected) < 1.25:
        raise Failure(
            "share",
            f"the usual inner chance: expected outputs that vary by {number(float(expected))}, "
            f"saw {number(float(draws))}",
        )
