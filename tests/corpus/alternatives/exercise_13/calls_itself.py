"""Large batches are computed in parts: the layer calls itself."""

import torch
from torch import nn


def fold(x, heads):
    """(batch, words, heads * d) -> (batch * heads, words, d)"""
    batch, words, _ = x.shape
    return x.reshape(batch, words, heads, -1).transpose(1, 2).flatten(0, 1)


def unfold(x, heads):
    """(batch * heads, words, d) -> (batch, words, heads * d)"""
    x = x.unflatten(0, (-1, heads)).transpose(1, 2)
    return x.flatten(2)


class BatchedAttention(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(features, 3 * features)
        self.merge = nn.Linear(features, features)

    def forward(self, x, allowed=None):
        if len(x) > 32:
            masks = [None] * len(x) if allowed is None else allowed.split(32)
            return torch.cat([self(*part) for part in zip(x.split(32), masks)])
        q, k, v = (fold(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))
        scores = torch.bmm(q, k.mT) / q.shape[-1] ** 0.5
        if allowed is not None:
            allowed = allowed.repeat_interleave(self.heads, dim=0)
            scores = scores.masked_fill(~allowed, -torch.inf)
        found = torch.bmm(scores.softmax(dim=-1), v)
        return self.merge(unfold(found, self.heads))
