"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import torch
import torch.nn.functional as F


def turned(z, first, base):
    """The pairs of features i and i + d / 2, turned by the angles of their places; (batch, heads, words, d)."""
    size = z.size(-1)
    rates = base ** (-2 * torch.arange(size // 2, dtype=torch.float64) / size)
    angle = (first + torch.arange(z.size(-2), dtype=torch.float64))[:, None] * rates
    a, b = z.double().chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)


def expected(w, x, past, heads, base):
    both = torch.cat([past, x], 1)
    q = F.linear(x, w["to_q.weight"])
    k, v = F.linear(both, w["to_kv.weight"]).chunk(2, -1)
    q, k, v = (z.unflatten(-1, (heads, -1)).transpose(1, 2).double() for z in (q, k, v))
    earlier = past.size(1)
    scores = turned(q, earlier, base) @ turned(k, 0, base).mT / q.size(-1) ** 0.5
    visible = torch.ones(scores.shape[-2:]).tril(earlier).bool()
    found = scores.masked_fill(~visible, -torch.inf).softmax(-1) @ v
    return F.linear(found.transpose(1, 2).flatten(2).float(), w["to_out.weight"], w["to_out.bias"])


def test_every_call_gives_what_a_new_layer_gives(subject, gaussian):
    m = subject(12, 3, 100.0)
    for words, earlier in ((4, 3), (4, 1), (3, 4), (4, 6)):
        x, past = gaussian(2, words, 12), gaussian(2, earlier, 12)
        assert torch.allclose(m(x, past), expected(m.state_dict(), x, past, 3, 100.0), atol=1e-4)


def test_the_start_makes_no_difference(subject, gaussian):
    m = subject(12, 3, 100.0).to(torch.bfloat16)
    x, past = (2 * gaussian(2, 6, 12)).bfloat16(), (2 * gaussian(2, 5, 12)).bfloat16()
    assert torch.allclose(m(x, past), m(x, past, 3001), atol=0.05)
