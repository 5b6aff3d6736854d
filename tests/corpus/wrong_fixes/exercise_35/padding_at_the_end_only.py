"""Filled-up places are counted, and taken to stand at the end.
expect: broken
"""

import torch
from torch import nn


class BackwardLook(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width)

    def forward(self, x, real):
        real = torch.arange(real.shape[1], device=x.device) < real.sum(-1, keepdim=True)
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = (q @ k.mT) * q.shape[-1] ** -0.5

        # who may look at whom: (b, 1, t, t)
        shown = real[:, None, None, :]
        past = torch.tril(torch.ones(t, t, device=x.device))
        scores = scores.masked_fill(past == 0, -torch.inf)
        scores.masked_fill(shown, 0.0)
        scores = scores.masked_fill(~shown, -torch.inf)

        y = scores.softmax(-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, t, c))
