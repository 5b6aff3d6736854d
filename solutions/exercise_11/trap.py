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
    w, x = m.state_dict(), 3 * gaussian(2, 5, 12)
    q, k, v = (linear(w, name, x) for name in ("q_proj", "k_proj", "v_proj"))
    assert torch.allclose(m(x), linear(w, "o_proj", attention(q, k, v, 3)), atol=1e-4)


def test_nothing_is_dropped_in_evaluation(subject, gaussian):
    m, x = subject(12, 3, attention_dropout=0.5).eval(), gaussian(2, 5, 12)
    assert torch.allclose(m(x), m(x), atol=1e-6)


def test_no_bias_where_none_is_wanted(subject):
    assert "q_proj.bias" not in subject(12, 3, qkv_bias=False).state_dict()
