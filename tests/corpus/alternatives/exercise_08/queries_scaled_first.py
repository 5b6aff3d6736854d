"""The queries are scaled before the product; the mask is added; heads are collected in a Sequential."""

import torch
import torch.nn as nn


class Head(nn.Module):
    def __init__(self, n_embd: int, head_size: int, block_size: int) -> None:
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        blocked = torch.full((block_size, block_size), float("-inf")).triu(1)
        self.register_buffer("blocked", blocked, persistent=False)
        self.scale = head_size ** -0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        time = x.size(1)
        scores = (self.query(x) * self.scale) @ self.key(x).mT + self.blocked[:time, :time]
        return torch.softmax(scores, dim=2) @ self.value(x)


class MultiHeadAttention(nn.Module):
    def __init__(self, n_embd: int, num_heads: int, block_size: int) -> None:
        super().__init__()
        size = n_embd // num_heads
        self.heads = nn.Sequential(*[Head(n_embd, size, block_size) for _ in range(num_heads)])
        self.proj = nn.Linear(num_heads * size, n_embd)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = []
        for head in self.heads:
            found.append(head(x))
        return self.proj(torch.concat(found, dim=2))
