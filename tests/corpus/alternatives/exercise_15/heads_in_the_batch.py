"""Samples times heads in one axis, as torch's own module does it."""

import torch
from torch import nn


class TemporalAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, series, observed=None):
        t, b, w = series.size()
        fold = lambda z: z.reshape(t, b * self.heads, -1).transpose(0, 1)
        q, k, v = map(fold, self.in_proj(series).chunk(3, -1))
        scores = torch.bmm(q, k.transpose(1, 2)) * q.size(2) ** -0.5
        ahead = torch.arange(t, device=series.device)
        scores = scores.masked_fill(ahead[None, :] > ahead[:, None], float("-inf"))
        if observed is not None:
            silent = observed.t().repeat_interleave(self.heads, dim=0).logical_not()
            scores = scores.masked_fill(silent.unsqueeze(1), float("-inf"))
        out = torch.bmm(scores.softmax(2), v).transpose(0, 1).reshape(t, b, w)
        return self.out_proj(out)
