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


@pytest.mark.parametrize("backend", ["eager", "fused"])
@pytest.mark.parametrize("scale_scores", [True, False])
def test_the_formula(subject, gaussian, backend, scale_scores):
    m = subject(12, 3, scale_scores, backend)
    w, x = m.state_dict(), 3 * gaussian(2, 5, 12)
    q, k, v = linear(w, "qkv", x).chunk(3, -1)
    expected = linear(w, "out", attention(q, k, v, 3, past(5), scale_scores))
    assert torch.allclose(m(x), expected, atol=1e-4)


def test_no_later_position_has_influence_however_large(subject, gaussian):
    m, x = subject(12, 3), 1e4 * gaussian(8, 5, 12)
    y = x.clone()
    y[:, 2:] = 1e4 * gaussian(8, 3, 12)
    assert torch.allclose(m(x)[:, :2], m(y)[:, :2], rtol=1e-3, atol=1.0)
