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


def expected(m, x, real, heads):
    w = m.state_dict()
    q, k, v = linear(w, "qkv", x).chunk(3, -1)
    return linear(w, "proj", attention(q, k, v, heads, past(x.size(1)) & real[:, None, None]))


@pytest.mark.parametrize("magnitude", [1.0, 1e6])
def test_the_formula(subject, gaussian, magnitude):
    m, x = subject(12, 3).double(), magnitude * gaussian(4, 6, 12).double()
    real = torch.tensor([[1, 1, 0, 1, 0, 1], [1, 0, 1, 1, 1, 0], [1, 0, 0, 0, 0, 1], [1, 1, 1, 0, 0, 0]]).bool()
    assert torch.allclose(m(x, real), expected(m, x, real, 3), rtol=1e-6, atol=1e-9 * magnitude)


def test_hidden_words_have_no_influence_however_large(subject, gaussian):
    m, x = subject(6, 1).double(), 1e16 * gaussian(8, 4, 6).double()
    real = torch.tensor([True, False, True, True]).expand(8, 4)
    y = x.clone()
    y[:, 1] = y[:, 1] * 3
    y[:, 3] = -y[:, 3]
    assert torch.allclose(m(x, real)[:, [0, 2]], m(y, real)[:, [0, 2]], rtol=1e-6)


def test_some_rows_of_a_long_text(subject, gaussian):
    m, x = subject(2, 1), gaussian(1, 2100, 2)
    real = torch.ones(1, 2100).bool()
    real[:, 7] = False
    with torch.no_grad():
        found = m(x, real)
    w, rows = m.state_dict(), torch.tensor([0, 9, 300, 600, 1100, 2090])
    q, k, v = linear(w, "qkv", x).chunk(3, -1)
    visible = (torch.arange(2100) <= rows[:, None]) & real[0]
    expected_rows = linear(w, "proj", attention(q[:, rows], k, v, 1, visible))
    assert torch.allclose(found[:, rows], expected_rows, atol=1e-4)


def test_where_every_sentence_ends_with_a_real_word(subject, gaussian):
    m, x = subject(12, 3), gaussian(2, 5, 12)
    real = torch.tensor([[1, 0, 0, 1, 1], [1, 1, 0, 0, 1]]).bool()
    assert torch.allclose(m(x, real), expected(m, x, real, 3), atol=1e-4)


def test_heads_of_a_single_feature(subject, gaussian):
    m, x, real = subject(4, 4), gaussian(2, 5, 4), torch.ones(2, 5).bool()
    assert torch.allclose(m(x, real), expected(m, x, real, 4), atol=1e-4)
