"""Einstein sums need no folding."""

import torch
from torch import einsum, nn


class BatchedAttention(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.shape = (3, heads, features // heads)
        self.qkv = nn.Linear(features, 3 * features)
        self.merge = nn.Linear(features, features)

    def forward(self, x, allowed=None):
        q, k, v = self.qkv(x).unflatten(-1, self.shape).unbind(dim=2)
        scores = einsum("bihd,bjhd->hbij", q / self.shape[-1] ** 0.5, k)
        if allowed is not None:
            scores = scores.masked_fill(allowed.logical_not(), torch.finfo(scores.dtype).min)
        return self.merge(einsum("hbij,bjhd->bihd", torch.softmax(scores, -1), v).flatten(2))
