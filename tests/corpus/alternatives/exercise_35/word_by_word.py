"""Each word looks at a slice."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class BackwardLook(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width)

    def forward(self, x, real):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).unbind(2)
        out = []
        for i in range(x.shape[1]):
            scores = (q[:, i, None] * k[:, : i + 1]).sum(-1) / q.shape[-1] ** 0.5
            scores = scores.masked_fill(~real[:, : i + 1, None], float("-inf"))
            out.append((F.softmax(scores, dim=1).unsqueeze(-1) * v[:, : i + 1]).sum(1).flatten(1))
        return self.proj(torch.stack(out, dim=1))
