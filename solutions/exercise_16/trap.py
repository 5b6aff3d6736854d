"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import torch
import torch.nn.functional as F


def linear(layer_weights, name, x):
    return F.linear(x, layer_weights[f"{name}.weight"], layer_weights.get(f"{name}.bias"))


def attention(q, k, v, heads, visible=None, scaled=True):
    """The textbook's attention, heads one after the other; (batch, queries, width)."""
    q, k, v = (z.unflatten(-1, (heads, -1)).transpose(1, 2) for z in (q, k, v))
    scores = q @ k.mT * (q.size(-1) ** -0.5 if scaled else 1.0)
    if visible is not None:
        scores = scores.masked_fill(~visible, -torch.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


def past(tokens):
    return torch.ones(tokens, tokens).tril().bool()


def test_the_formula(subject, gaussian):
    m = subject(12, 3)
    w, x = m.state_dict(), gaussian(2, 5, 12)
    real = torch.tensor([[1, 1, 0, 1, 0], [0, 0, 1, 1, 1]]).bool()
    q, k, v = (linear(w, name, x) for name in ("query", "key", "value"))
    assert torch.allclose(m(x, real), linear(w, "output", attention(q, k, v, 3, real[:, None, None])), atol=1e-4)


def test_an_empty_page_has_finite_gradients(subject, gaussian):
    m, x = subject(12, 3), gaussian(2, 5, 12).requires_grad_()
    real = torch.tensor([[True] * 5, [False] * 5])
    m(x, real).square().sum().backward()
    assert torch.isfinite(x.grad).all()
    assert all(torch.isfinite(each.grad).all() for each in m.parameters())
