"""The square of the whole text, of which a call takes its rows; a softmax written out."""

import math

import torch
from torch import nn


class RememberingAttention(nn.Module):
    def __init__(self, d_model, n_heads, max_len):
        super().__init__()
        self.n_heads = n_heads
        self.positions = nn.Embedding(max_len, d_model)
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model)
        self.register_buffer("future", torch.ones(max_len, max_len, dtype=torch.bool).triu(1), persistent=False)
        self.memory = []
        self.offset = 0

    def forward(self, x, more=False):
        if not more:
            self.memory, self.offset = [], 0
        start, end = self.offset, self.offset + x.size(1)
        h = x + self.positions.weight[start:end]
        q, k, v = (t.unflatten(2, (self.n_heads, -1)).transpose(1, 2) for t in self.qkv(h).chunk(3, dim=2))
        keys = torch.cat([old for old, _ in self.memory] + [k], dim=2)
        values = torch.cat([old for _, old in self.memory] + [v], dim=2)
        self.memory.append((k.detach(), v.detach()))
        self.offset = end
        scores = q @ keys.mT / math.sqrt(q.size(-1))
        scores = scores.masked_fill(self.future[start:end, :end], float("-inf"))
        return self.out((scores.softmax(-1) @ values).transpose(1, 2).flatten(2))
