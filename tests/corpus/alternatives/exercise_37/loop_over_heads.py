"""Head after head, angles repeated by a new axis."""

import math

import torch
from torch import nn


def turn(z, base):
    words, d = z.size(1), z.size(2)
    exponent = torch.arange(d // 2, dtype=z.dtype, device=z.device).mul(-2.0 / d)
    angle = torch.arange(words, dtype=z.dtype, device=z.device)[:, None] * torch.exp(exponent * math.log(base))
    cos, sin = (t[..., None].expand(-1, -1, 2).reshape(words, d) for t in (angle.cos(), angle.sin()))
    sign = torch.tensor([-1.0, 1.0], dtype=z.dtype, device=z.device).repeat(d // 2)
    partner = z.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
    return z * cos + partner * sign * sin


class TurnedAttention(nn.Module):
    def __init__(self, width, heads, base):
        super().__init__()
        self.heads = heads
        self.base = base
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(width, width, bias=False)
        self.to_v = nn.Linear(width, width, bias=False)
        self.to_out = nn.Linear(width, width)

    def forward(self, x):
        hidden = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device).triu(1)
        out = []
        for q, k, v in zip(*(f(x).chunk(self.heads, dim=-1) for f in (self.to_q, self.to_k, self.to_v))):
            scores = turn(q, self.base) @ turn(k, self.base).transpose(1, 2) / math.sqrt(q.size(-1))
            out.append(torch.softmax(scores.masked_fill(hidden, -math.inf), -1) @ v)
        return self.to_out(torch.cat(out, -1))
