"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import torch


def test_the_formula(subject, gaussian):
    predicted, rewards, values = gaussian(5, 3, 1), gaussian(5, 3), gaussian(6, 3)
    ended = torch.zeros(5, 3, dtype=torch.int64)
    ended[1, 0] = ended[3, 1] = ended[4, 2] = 1
    advantage, targets = torch.zeros(3), []
    for t in reversed(range(5)):
        alive = 1 - ended[t]
        surprise = rewards[t] + 0.9 * values[t + 1] * alive - values[t]
        advantage = surprise + 0.9 * 0.8 * alive * advantage
        targets.insert(0, advantage + values[t])
    expected = torch.stack(targets)
    loss, found = subject(predicted, rewards, values, ended, gamma=0.9, lam=0.8)
    assert torch.allclose(found, expected, atol=1e-4)
    assert torch.allclose(loss, (predicted.squeeze(-1) - expected).square().mean(), atol=1e-4)
