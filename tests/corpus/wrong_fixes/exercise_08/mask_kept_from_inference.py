"""A mask is kept from call to call: made under inference_mode, it is of no use with gradients.
expect:
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Head(nn.Module):
    """One head: (batch, time, n_embd) -> (batch, time, head_size)."""

    def __init__(self, n_embd, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.masks = {}

    def forward(self, x):
        B, T, C = x.shape
        k = self.key(x)
        q = self.query(x)
        v = self.value(x)
        # how interesting is each token to each other one?
        wei = q @ k.transpose(-2, -1) * k.size(-1) ** -0.5
        key = T, x.device
        if key not in self.masks:
            self.masks[key] = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        wei = wei.masked_fill(self.masks[key], float("-inf"))
        wei = F.softmax(wei, dim=-1)
        return wei @ v


class MultiHeadAttention(nn.Module):
    """Several heads next to each other, mixed by one projection."""

    def __init__(self, n_embd, num_heads, block_size):
        super().__init__()
        head_size = n_embd // num_heads
        self.heads = nn.ModuleList([Head(n_embd, head_size, block_size) for _ in range(num_heads)])
        self.proj = nn.Linear(head_size * num_heads, n_embd)

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return self.proj(out)
