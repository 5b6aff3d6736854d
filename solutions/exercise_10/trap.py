"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import pytest
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


@pytest.mark.parametrize("mask", [False, True])
def test_the_formula(subject, gaussian, mask):
    m = subject(12, heads=3, mask=mask)
    w, x = m.state_dict(), gaussian(2, 5, 12)
    q, k, v = (linear(w, name, x) for name in ("toqueries", "tokeys", "tovalues"))
    expected = linear(w, "unifyheads", attention(q, k, v, 3, past(5) if mask else None))
    assert torch.allclose(m(x), expected, atol=1e-4)
