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
    m = subject(12, 3, dropout=0.0).eval()
    w, x = m.state_dict(), gaussian(2, 5, 12)
    q, k, v = (linear(w, name, x) for name in ("W_q", "W_k", "W_v"))
    assert torch.allclose(m(x), linear(w, "W_out", attention(q, k, v, 3)), atol=1e-4)


def test_a_query_without_keys_gets_the_bias(subject, gaussian):
    m = subject(8, 2, dropout=0.0).eval()
    mask = torch.ones(4, 4)
    mask[2] = 0
    output = m(gaussian(2, 4, 8), mask)
    assert torch.allclose(output[:, 2], m.state_dict()["W_out.bias"].expand(2, 8), atol=1e-6)
