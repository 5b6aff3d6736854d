"""Recordings of all kinds: whole numbers of every dtype, low rates, and predictions that alone take gradients."""

# S steps, G games

import torch

from grader.checks.compare import Failure, compare, compare_gradient

S, G, LONG = 5, 5, 128
RATES = {"gamma": 0.9, "lam": 0.8}
DTYPES = (torch.int64, torch.int32, torch.int8, torch.uint8)
PROBE = """
class Variation(torch.nn.Module):
    def forward(self, predicted, rewards, values, ended, gamma, lam):
        loss, _ = submission.critic_loss(predicted, rewards.detach(), values.detach(), ended, gamma=gamma, lam=lam)
        return loss
"""


def recording(gaussian, steps=S, ended=None):
    inputs = {"predicted": gaussian(steps, G, 1), "rewards": gaussian(steps, G), "values": gaussian(steps + 1, G)}
    return {**inputs, "ended": torch.zeros(steps, G, dtype=torch.int64) if ended is None else ended}


def ends(gaussian):
    ended = (gaussian(S, G) > 0.5).long()
    ended[2, 1] = ended[S - 1, 3] = 1
    return ended


def require_kept(module, inputs, where):
    left = module.inputs_after()
    for name, before in inputs.items():
        if name not in left or not torch.equal(left[name], before):
            raise Failure("argument", f"{where}: expected the call to leave {name} as it is, but it has other values")


def test_whole_numbers_of_every_dtype(subject, reference, gaussian):
    ours, theirs = subject(**RATES), reference(**RATES)
    inputs = recording(gaussian, ended=ends(gaussian))
    for dtype in DTYPES:
        own = {**inputs, "ended": inputs["ended"].to(dtype)}
        where = f"ended in {str(dtype).removeprefix('torch.')}"
        compare(ours(**own), theirs(**inputs), f"{where}: output")
        require_kept(ours, own, where)


def test_arguments_of_games_that_do_not_end(subject, gaussian):
    ours = subject(**RATES)
    inputs = recording(gaussian)
    ours(**inputs)
    require_kept(ours, inputs, "games that do not end")


def test_low_rates_in_a_long_recording(subject, reference, gaussian):
    rates = {"gamma": 0.5, "lam": 0.5}
    ours, theirs = subject(**rates), reference(**rates)
    inputs = recording(gaussian, LONG)
    compare(ours(**inputs), theirs(**inputs), f"gamma=0.5, lam=0.5, {LONG} steps, games that do not end: output")


def test_gradients_of_predictions_alone(subject, reference, gaussian):
    ours, theirs = (each.build({}, probe=PROBE, entry="Variation") for each in (subject, reference))
    inputs = {**recording(gaussian, ended=ends(gaussian)), **RATES}
    expected = theirs.differentiate(None, **inputs)
    observed = ours.differentiate(expected.cotangents, **inputs)
    compare(observed.value, expected.value, f"{S} steps of {G} games, only predicted needs a gradient: loss")
    compare_gradient(observed.inputs.get("predicted"), expected.inputs["predicted"], "the input predicted")
