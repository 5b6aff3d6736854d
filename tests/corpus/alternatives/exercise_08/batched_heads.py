"""The heads keep the weights; the layer stacks them and computes all heads at once."""

import torch
import torch.nn as nn


def causal_attention(q, k, v):
    time = q.shape[-2]
    hidden = torch.ones(time, time, dtype=torch.bool, device=q.device).triu(diagonal=1)
    scores = torch.matmul(q, k.transpose(-1, -2)) / q.shape[-1] ** 0.5
    return torch.matmul(torch.softmax(scores.masked_fill(hidden, -float("inf")), dim=-1), v)


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        return causal_attention(self.query(x), self.key(x), self.value(x))


class MultiHeadAttention(nn.Module):
    def __init__(self, n_embd, num_heads, block_size):
        super().__init__()
        self.size = n_embd // num_heads
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(Head(n_embd, self.size, block_size))
        self.proj = nn.Linear(self.size * num_heads, n_embd)

    def stacked(self, name):
        return torch.stack([getattr(head, name).weight for head in self.heads])  # (heads, size, n_embd)

    def forward(self, x):
        q, k, v = (torch.einsum("btc,hsc->bhts", x, self.stacked(name)) for name in ("query", "key", "value"))
        out = causal_attention(q, k, v)
        return self.proj(out.permute(0, 2, 1, 3).flatten(2))
