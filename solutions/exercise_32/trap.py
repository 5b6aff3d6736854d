"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import torch


def test_the_formula(subject, gaussian):
    weight = torch.nn.Parameter(gaussian(3, 4))
    expected = weight.detach().clone()
    optimizer = subject([weight], lr=0.1, betas=(0.8, 0.9), eps=0.01, weight_decay=0.5)
    m = v = torch.zeros(3, 4)
    for t in range(1, 5):
        g = gaussian(3, 4)
        weight.grad = g.clone()
        optimizer.step()
        expected = expected * (1 - 0.1 * 0.5)
        m, v = 0.8 * m + 0.2 * g, 0.9 * v + 0.1 * g**2
        expected = expected - 0.1 * (m / (1 - 0.8**t)) / ((v / (1 - 0.9**t)).sqrt() + 0.01)
        assert torch.allclose(weight, expected, atol=1e-5)
