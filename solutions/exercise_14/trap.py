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
    m = subject(4, 12, 3, 8)
    w, x = m.state_dict(), gaussian(2, 5, 4)
    q, k, v = linear(w, "qkv", x).chunk(3, -1)
    assert torch.allclose(m(x), linear(w, "proj", attention(q, k, v, 3, past(5))), atol=1e-4)


def test_the_formula_with_padding(subject, gaussian):
    m = subject(4, 12, 3, 8)
    w, x = m.state_dict(), gaussian(2, 5, 4)
    keep = torch.tensor([[True, True, False, True, False], [True, False, True, True, True]])
    q, k, v = linear(w, "qkv", x).chunk(3, -1)
    expected = linear(w, "proj", attention(q, k, v, 3, past(5) & keep[:, None, None]))
    assert torch.allclose(m(x, keep), expected, atol=1e-4)
