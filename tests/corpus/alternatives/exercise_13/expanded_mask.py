"""The fold as it was; the mask is folded in the same way, and the unfold undoes it step by step."""

import torch
from torch import nn


class BatchedAttention(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(features, 3 * features)
        self.merge = nn.Linear(features, features)

    def forward(self, x, allowed=None):
        batch, words, features = x.size()
        size = features // self.heads
        stacked = self.qkv(x).reshape(batch, words, 3 * self.heads, size).transpose(1, 2)
        q, k, v = (p.reshape(batch * self.heads, words, size) for p in stacked.split(self.heads, dim=1))
        bias = x.new_zeros(batch * self.heads, words, words)
        if allowed is not None:
            folded = allowed.view(batch, 1, words, words).expand(batch, self.heads, words, words)
            bias = bias.masked_fill(folded.reshape_as(bias).eq(False), float("-inf"))
        weights = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=size ** -0.5).softmax(dim=-1)
        found = torch.bmm(weights, v).reshape(batch, self.heads, words, size)
        return self.merge(torch.cat([found[:, h] for h in range(self.heads)], dim=-1))
