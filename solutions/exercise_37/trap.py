"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import pytest
import torch
import torch.nn.functional as F


def turned(z, base):
    """Neighbouring features, turned as pairs by the angles of their places; (batch, heads, words, d)."""
    size = z.size(-1)
    rates = base ** (-2 * torch.arange(size // 2, dtype=torch.float64) / size)
    angle = torch.arange(z.size(-2), dtype=torch.float64)[:, None] * rates
    cos, sin = angle.cos().to(z.dtype), angle.sin().to(z.dtype)
    a, b = z[..., 0::2], z[..., 1::2]
    return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)


def expected(m, x, heads, base):
    w = m.state_dict()
    q, k, v = (F.linear(x, w[f"to_{name}.weight"]).unflatten(-1, (heads, -1)).transpose(1, 2) for name in "qkv")
    scores = turned(q, base) @ turned(k, base).mT / q.size(-1) ** 0.5
    visible = torch.ones(x.size(1), x.size(1)).tril().bool()
    found = scores.masked_fill(~visible, -torch.inf).softmax(-1) @ v
    return F.linear(found.transpose(1, 2).flatten(2), w["to_out.weight"], w["to_out.bias"])


def test_the_formula(subject, gaussian):
    m, x = subject(12, 2, 10.0), gaussian(2, 5, 12)
    assert torch.allclose(m(x), expected(m, x, 2, 10.0), atol=1e-4)


@pytest.mark.parametrize("base", [10.0, 1e12])
def test_the_formula_in_float64(subject, gaussian, base):
    m, x = subject(24, 1, base).double(), gaussian(2, 200, 24).double()
    assert torch.allclose(m(x), expected(m, x, 1, base), rtol=0, atol=1e-10)


def test_some_rows_of_a_long_text(subject, gaussian):
    m, x = subject(4, 1, 256.0), 3 * gaussian(1, 2200, 4)  # turned by p and by p / 16, which float32 holds exactly
    with torch.no_grad():
        found = m(x)
    w, rows = m.state_dict(), torch.tensor([0, 300, 600, 1100, 2190])
    q, k, v = (F.linear(x, w[f"to_{name}.weight"]) for name in "qkv")
    scores = turned(q, 256.0)[:, rows] @ turned(k, 256.0).mT / 4**0.5
    weights = scores.masked_fill(torch.arange(2200) > rows[:, None], -torch.inf).softmax(-1)
    assert torch.allclose(found[:, rows], F.linear(weights @ v, w["to_out.weight"], w["to_out.bias"]), atol=1e-2)


@pytest.mark.parametrize("magnitude", [1e6, 1e16])
def test_no_later_word_has_influence_however_large(subject, gaussian, magnitude):
    m, x = subject(12, 2, 10.0).double(), magnitude * gaussian(8, 3, 12).double()
    y = x.clone()
    y[:, 1:] = -y[:, 1:]
    assert torch.allclose(m(x)[:, 0], m(y)[:, 0], rtol=1e-6)


@pytest.mark.parametrize(("base", "heads"), [(1.001, 3), (2.75, 2), (1e6, 8)])
def test_every_base(subject, gaussian, base, heads):
    m, x = subject(6 * heads, heads, base), 3 * gaussian(2, 40, 6 * heads)
    assert torch.allclose(m(x), expected(m, x, heads, base), atol=1e-4)


def test_learning_after_inference_mode(subject, gaussian):
    m, x = subject(12, 2, 7.0), gaussian(2, 31, 12)
    with torch.inference_mode():
        m(x)
    m(x).sum().backward()


def test_gradients_of_a_large_loss(subject, gaussian):
    m, x = subject(12, 2, 10.0).double(), gaussian(2, 5, 12).double()
    one, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    (1e6 * m(one)).sum().backward()
    (1e6 * expected(m, other, 2, 10.0)).sum().backward()
    assert torch.allclose(one.grad, other.grad, rtol=1e-6, atol=1e-3)
