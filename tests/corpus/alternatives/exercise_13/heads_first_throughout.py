"""The other order, kept to everywhere: all samples of the first head, then all of the second."""

import torch
from torch import nn


class BatchedAttention(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(features, 3 * features)
        self.merge = nn.Linear(features, features)

    def fold(self, x):
        return torch.cat(x.chunk(self.heads, dim=2), dim=0)

    def unfold(self, x):
        return torch.cat(x.chunk(self.heads, dim=0), dim=2)

    def forward(self, x, allowed=None):
        q, k, v = map(self.fold, self.qkv(x).chunk(3, dim=2))
        scores = torch.bmm(q, k.transpose(1, 2)) * q.size(2) ** -0.5
        if allowed is not None:
            scores = torch.where(allowed.repeat(self.heads, 1, 1), scores, -torch.inf)
        return self.merge(self.unfold(torch.softmax(scores, dim=2) @ v))
