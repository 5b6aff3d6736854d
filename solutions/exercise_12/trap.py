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
    w, x, y, z = m.state_dict(), gaussian(2, 4, 12), gaussian(2, 5, 12), gaussian(2, 5, 12)
    expected = attention(linear(w, "w_q", x), linear(w, "w_k", y), linear(w, "w_v", z), 3)
    assert torch.allclose(m(x, y, z), linear(w, "w_concat", expected), atol=1e-4)
