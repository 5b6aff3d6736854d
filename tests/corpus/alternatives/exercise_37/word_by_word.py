"""Distances are turned, not places: each query meets keys that are turned back by how far they lie."""

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

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.to_q, self.to_k, self.to_v))
        d = q.shape[-1]
        rate = self.base ** (-torch.arange(0, d, 2, dtype=x.dtype, device=x.device) / d)
        a, b = k[..., 0::2], k[..., 1::2]
        out = []
        for i in range(x.shape[1]):
            angle = (torch.arange(i + 1, dtype=x.dtype, device=x.device) - i)[:, None, None] * rate
            cos, sin = angle.cos(), angle.sin()
            ka, kb = a[:, : i + 1] * cos - b[:, : i + 1] * sin, b[:, : i + 1] * cos + a[:, : i + 1] * sin
            scores = (q[:, i, None, :, 0::2] * ka + q[:, i, None, :, 1::2] * kb).sum(-1) / d ** 0.5
            out.append((scores.softmax(1).unsqueeze(-1) * v[:, : i + 1]).sum(1).flatten(1))
        return self.to_out(torch.stack(out, dim=1))
