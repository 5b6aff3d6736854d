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


@pytest.mark.parametrize("masked", [False, True])
def test_the_formula(subject, gaussian, masked):
    m = subject(12, 3)
    w, x, memory = m.state_dict(), gaussian(2, 4, 12), gaussian(2, 6, 12)
    mask = torch.tensor([[1, 0, 1, 1, 0, 1], [0, 1, 1, 0, 0, 0]]).bool() if masked else None
    h = F.layer_norm(x, (12,), w["norm.weight"], w["norm.bias"])
    k, v = linear(w, "to_kv", memory).chunk(2, -1)
    found = attention(linear(w, "to_q", h), k, v, 3, mask[:, None, None] if masked else None)
    assert torch.allclose(m(x, memory, mask), x + linear(w, "to_out", found), atol=1e-4)
