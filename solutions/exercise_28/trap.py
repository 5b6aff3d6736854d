"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import torch


def formula(w, x, scale):
    small = x @ w["down.weight"].T @ w["up.weight"].T
    return x @ w["base.weight"].T + w["base.bias"] + scale * small


def built(subject, gaussian, dropout=0.0):
    m = subject(6, 5, 2, 8.0, dropout)
    state = {name: gaussian(*each.shape) for name, each in m.state_dict().items()}
    m.load_state_dict(state)
    return m


def test_nothing_is_dropped_in_evaluation(subject, gaussian):
    m, x = built(subject, gaussian, 0.5).eval(), gaussian(3, 6)
    assert torch.allclose(m(x), formula(m.state_dict(), x, 4.0), atol=1e-3)


def test_folding_changes_nothing(subject, gaussian):
    m, x = built(subject, gaussian).eval(), gaussian(3, 6)
    before = m(x)
    m.fold()
    assert torch.allclose(m(x), before, atol=1e-3)
    m.unfold()
    assert torch.allclose(m(x), before, atol=1e-3)
