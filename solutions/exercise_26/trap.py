"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import torch


def test_nothing_is_dropped_in_evaluation(subject, gaussian):
    m, x = subject(8, 16, inner=0.5, outer=0.5).eval(), gaussian(4, 8)
    w = m.state_dict()
    h = torch.relu(x @ w["up.weight"].T + w["up.bias"])
    assert torch.allclose(m(x), x + h @ w["down.weight"].T + w["down.bias"], atol=1e-5)


def test_entries_are_dropped_again_after_an_evaluation(subject, gaussian):
    m, x = subject(8, 16, inner=0.0, outer=0.5), gaussian(50, 8)
    m.eval()
    m(x)
    m.train()
    kept = (m(x) - x).abs() > 1e-7
    assert 0.2 < kept.float().mean() < 0.8
