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
    m = subject(24, 6, 2, 3)
    w, x = m.state_dict(), gaussian(2, 7, 24)
    q, k, v = (linear(w, name, x) for name in ("wq", "wk", "wv"))
    k, v = (z.unflatten(-1, (2, 4)).repeat_interleave(3, dim=2).flatten(2) for z in (k, v))
    window = past(7) & ~past(7).tril(-3)
    assert torch.allclose(m(x), linear(w, "wo", attention(q, k, v, 6, window)), atol=1e-4)
