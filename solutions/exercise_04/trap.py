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
    expected = attention(linear(w, "W_q", x), linear(w, "W_k", y), linear(w, "W_v", z), 3)
    output, _ = m(x, y, z)
    assert torch.allclose(output, linear(w, "W_h", expected), atol=1e-4)


def test_the_scale_is_that_of_the_given_queries(subject, gaussian):
    q, k, v = gaussian(1, 2, 3, 5), gaussian(1, 2, 4, 5), gaussian(1, 2, 4, 5)
    output, weights = subject(12, 3).scaled_dot_product(q, k, v)
    expected = (q @ k.mT / 5**0.5).softmax(-1)
    assert torch.allclose(weights, expected, atol=1e-5)
    assert torch.allclose(output, expected @ v, atol=1e-5)


def test_a_call_prints_nothing(subject, gaussian, capsys):
    x = gaussian(1, 3, 4)
    subject(4, 1)(x, x, x)
    assert capsys.readouterr().out == ""
