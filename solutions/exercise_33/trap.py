"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import pytest
import torch
import torch.nn.functional as F


@pytest.mark.parametrize("longest", [0.01, 100.0])
def test_the_formula(subject, gaussian, longest):
    model = torch.nn.Sequential(torch.nn.Linear(4, 3))
    weight, bias = (each.detach().clone().requires_grad_() for each in model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = gaussian(8, 4), torch.tensor([0, 1, 2, 0, 1, 2, 0, 0])
    subject(model, optimizer, x, y, longest=longest)
    loss = F.cross_entropy(F.linear(x, weight, bias), y)
    gradients = torch.autograd.grad(loss, (weight, bias))
    length = sum(each.square().sum() for each in gradients).sqrt()
    factor = min(1.0, longest / float(length))
    for own, before, gradient in zip(model.parameters(), (weight, bias), gradients, strict=True):
        assert torch.allclose(own, before - 0.1 * factor * gradient, atol=1e-5)
