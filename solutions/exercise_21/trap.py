"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import torch
import torch.nn.functional as F


def turned(z, base):
    size = z.size(-1)
    rates = base ** (-2 * torch.arange(size // 2) / size)
    angle = torch.arange(z.size(-2))[:, None] * rates
    a, b = z.chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)


def test_the_formula(subject, gaussian):
    m = subject(12, 2, 10.0)
    w, x = m.state_dict(), gaussian(2, 5, 12)
    q, k, v = (F.linear(x, w[f"w_{name}.weight"]).unflatten(-1, (2, 6)).transpose(1, 2) for name in "qkv")
    weights = (turned(q, 10.0) @ turned(k, 10.0).mT / 6**0.5).softmax(-1)
    expected = F.linear((weights @ v).transpose(1, 2).flatten(2), w["w_o.weight"], w["w_o.bias"])
    assert torch.allclose(m(x), expected, atol=1e-4)
