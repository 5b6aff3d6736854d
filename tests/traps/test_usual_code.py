"""Usual code of students works with the proxies of a trap: on every right implementation, at every seed."""

import pytest

from grader.trap.implementations import Role
from grader.trap.judge import TrapJudge
from grader.trap.result import Standing
from grader.trap.session import Trap
from tests.support.traps import SEED, Traps, standings

OPTIMIZER = """
import copy
import torch
from torch import nn


def test_the_learning_rate_may_change(subject):
    p = nn.Parameter(torch.ones(3))
    p.grad = torch.ones(3)
    o = subject([p], lr=0.1, weight_decay=0.0)
    for group in o.param_groups:
        group["lr"] = 0.01
    o.step()
    assert torch.allclose(p, torch.full((3,), 0.99), atol=1e-5)


def test_a_scheduler_works(subject):
    model = nn.Linear(3, 2)
    before = model.weight.detach().clone()
    o = subject(model.parameters(), lr=0.1, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.StepLR(o, 1, gamma=0.1)
    for _ in range(2):
        model.weight.grad = torch.ones(2, 3)
        o.step()
        schedule.step()
    assert torch.allclose(model.weight, before - 0.11, atol=1e-5)
    assert len(o.state[model.weight]) > 0 and o.param_groups[0]["params"][0] is model.weight
"""

MODULE = """
import copy
import numpy as np
import torch


def test_a_copy_is_independent(subject, gaussian):
    m = subject(np.int64(4), 6, 8, 0.0).eval()
    x = gaussian(1, 5, 4)
    other = copy.deepcopy(m)
    assert torch.allclose(other(x), m(x), atol=1e-6)
    for each in other.parameters():
        torch.nn.init.zeros_(each)
    assert not torch.allclose(other(x), m(x), atol=1e-3)


def test_an_output_can_be_written_to(subject, gaussian):
    y = subject(4, 6, 8, 0.0).eval()(gaussian(1, 5, 4))
    y[:, 0] = 0
    y += 1
    assert torch.allclose(y[:, 0], torch.ones(1, 6), atol=1e-6)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("exercise", "text"), [("exercise_32", OPTIMIZER), ("exercise_03", MODULE)])
def test_usual_code_works(traps: Traps, exercise: str, text: str) -> None:
    result = TrapJudge(traps.course, traps.source)(
        exercise, Trap(name="trap.py", text=text), seed=SEED, roles=(Role.RIGHT,)
    )
    assert standings(result) == dict.fromkeys((each.name for each in result.tests), Standing.COUNTS)
    assert len(result.tests) == 2
