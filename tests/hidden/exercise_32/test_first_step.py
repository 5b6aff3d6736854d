"""The first step: what the decay and `eps` do to it."""

# R rows, C columns

import torch

from grader.checks.compare import Failure, number

R, C = 3, 4
LR, DECAY, EPS = 0.05, 2.0, 10.0
SHARE = LR * DECAY
CLOSE, CLOSE_STEPS = 1e-4, 1e-6


def matrices(build, inputs, **arguments):
    """Return the matrix before and after the first step, each (R, C)."""
    return build(lr=LR, **arguments)(**inputs)[0][:2]


def some(gaussian):
    return {"matrix": gaussian(R, C), "vector": gaussian(C)}


def test_the_decay_takes_the_same_share_of_every_weight(subject, gaussian):
    inputs = some(gaussian)
    (start, decayed), (_, kept) = (matrices(subject, inputs, weight_decay=decay) for decay in (DECAY, 0.0))
    if not torch.allclose(kept - decayed, SHARE * start, rtol=0.0, atol=CLOSE):
        worst = (kept - decayed - SHARE * start).abs().argmax()
        taken, weight = (float(each.flatten()[worst]) for each in (kept - decayed, start))
        raise Failure(
            "decay",
            f"weight_decay={DECAY:g} in place of 0: expected the first step to take another {SHARE:.0%} from each "
            f"weight, got {number(taken)} taken from a weight of {number(weight)}",
            code=f"torch.allclose(outs[1][0][1] - outs[0][0][1], {SHARE:g} * outs[0][0][0], rtol=0.0, atol={CLOSE:g})",
        )


def test_a_large_eps_shortens_the_first_step_as_it_should(subject, reference, gaussian):
    inputs = some(gaussian)
    pairs = (matrices(build, inputs, weight_decay=0.0, eps=EPS) for build in (subject, reference))
    ours, theirs = (float((after - before).abs().max()) for before, after in pairs)
    if not abs(ours - theirs) < CLOSE_STEPS:
        raise Failure(
            "eps",
            f"eps={EPS:g}, without decay: expected the largest change in the first step to be {number(theirs)}, "
            f"got {number(ours)}",
            code=f"abs((outs[0][0][1] - outs[0][0][0]).abs().max() - {theirs:.6g}) < {CLOSE_STEPS:g}",
        )
