"""Einstein sums, and a mask made where it is needed."""

import math

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size):
        super().__init__()
        self.head_size = head_size
        for name in ("key", "query", "value"):
            setattr(self, name, nn.Linear(n_embd, head_size, bias=False))

    def forward(self, x):
        scores = torch.einsum("bid,bjd->bij", self.query(x), self.key(x)) / math.sqrt(self.head_size)
        steps = torch.arange(x.shape[1], device=x.device)
        scores = scores.masked_fill(steps[None, :] > steps[:, None], -torch.inf)
        return torch.einsum("bij,bjd->bid", scores.softmax(-1), self.value(x))


class MultiHeadAttention(nn.Module):
    def __init__(self, n_embd, num_heads, block_size):
        super().__init__()
        size = n_embd // num_heads
        self.heads = nn.ModuleList(Head(n_embd, size, block_size) for _ in range(num_heads))
        self.proj = nn.Linear(size * num_heads, n_embd)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], -1))
