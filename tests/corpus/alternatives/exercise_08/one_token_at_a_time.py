"""A token looks back over the slice of what it may see, so there is nothing to mask."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        k, q, v = self.key(x), self.query(x), self.value(x)
        rows = []
        for t in range(x.shape[1]):
            seen = slice(0, t + 1)
            scores = (k[:, seen] * q[:, t : t + 1]).sum(-1) / k.shape[-1] ** 0.5
            rows.append((F.softmax(scores, dim=1).unsqueeze(-1) * v[:, seen]).sum(1))
        return torch.stack(rows, dim=1)


class MultiHeadAttention(nn.Module):
    def __init__(self, n_embd, num_heads, block_size):
        super().__init__()
        head_size = n_embd // num_heads
        self.num_heads = num_heads
        self.heads = nn.ModuleDict({str(i): Head(n_embd, head_size, block_size) for i in range(num_heads)})
        self.proj = nn.Linear(head_size * num_heads, n_embd)

    def forward(self, x):
        return self.proj(torch.cat([self.heads[str(i)](x) for i in range(self.num_heads)], dim=-1))
