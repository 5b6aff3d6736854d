"""Each pair is turned by name."""

import torch
from torch import nn


class TurnedAttention(nn.Module):
    def __init__(self, width, heads, base):
        super().__init__()
        self.heads = heads
        self.base = base
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(width, width, bias=False)
        self.to_v = nn.Linear(width, width, bias=False)
        self.to_out = nn.Linear(width, width)

    def turn(self, z):
        d = z.shape[-1]
        place = torch.arange(z.shape[-2], dtype=z.dtype, device=z.device)
        angle = place[:, None] * self.base ** (-torch.arange(0, d, 2, dtype=z.dtype, device=z.device) / d)
        a, b = z.unflatten(-1, (-1, 2)).unbind(-1)
        cos, sin = angle.cos(), angle.sin()
        return torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1).flatten(-2)

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.to_q, self.to_k, self.to_v))
        scores = self.turn(q) @ self.turn(k).mT / q.shape[-1] ** 0.5
        future = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device).triu(1)
        return self.to_out((scores.masked_fill(future, float("-inf")).softmax(-1) @ v).transpose(1, 2).flatten(2))
