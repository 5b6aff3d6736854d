"""Targets by themselves, and predictions that are right."""

# S steps, G games

import torch

from grader.checks.compare import Failure, compare, number

S, G = 6, 3
ARGUMENTS = {"gamma": 0.9, "lam": 0.7}


def recording(gaussian, ends):
    ended = torch.zeros(S, G, dtype=torch.int64)
    for step, game in ends:
        ended[step, game] = 1
    return {"predicted": gaussian(S, G, 1), "rewards": gaussian(S, G), "values": gaussian(S + 1, G), "ended": ended}


def test_targets_of_games_that_end(subject, reference, gaussian):
    ours, theirs = subject(**ARGUMENTS), reference(**ARGUMENTS)
    inputs = recording(gaussian, [(2, 0), (0, 1), (3, 1), (S - 1, 2)])
    compare(ours(**inputs)[1], theirs(**inputs)[1], "games that end: targets")


def test_a_critic_that_is_right_costs_nothing(subject, gaussian):
    ours = subject(**ARGUMENTS)
    inputs = recording(gaussian, [(2, 0)])
    _, targets = ours(**inputs)
    loss, _ = ours(**{**inputs, "predicted": targets.unsqueeze(-1)})
    if not abs(float(loss)) < 1e-6:
        text = f"predictions that equal the targets: expected a loss of 0, got {number(float(loss))}"
        raise Failure("perfect", text, code="abs(outs[1][0]) < 1e-6")


def test_games_that_do_not_end(subject, reference, gaussian):
    ours, theirs = subject(**ARGUMENTS), reference(**ARGUMENTS)
    inputs = recording(gaussian, [])
    compare(ours(**inputs), theirs(**inputs), "games that do not end: output")
