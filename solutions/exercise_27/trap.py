"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import copy

import torch


def test_the_running_mean_moves_by_a_hundredth(subject, gaussian):
    m, x = subject(4, 6, 0.9).train(), 3 + gaussian(50, 4)
    w = m.state_dict()
    h = x @ w["online.0.weight"].T + w["online.0.bias"]
    before = copy.deepcopy(w["online.1.running_mean"])
    m(x)
    expected = 0.99 * before + 0.01 * h.mean(0)
    assert torch.allclose(m.state_dict()["online.1.running_mean"], expected, atol=1e-5)


def test_the_twin_takes_over_the_buffers(subject, gaussian):
    m = subject(4, 6, 0.9).train()
    m(3 + gaussian(50, 4))
    m.follow()
    w = m.state_dict()
    for name in ("running_mean", "running_var"):
        assert torch.allclose(w[f"twin.1.{name}"], w[f"online.1.{name}"])
