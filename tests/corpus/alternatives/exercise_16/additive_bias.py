"""A very large negative bias, and a product with zero afterwards."""

import torch
import torch.nn as nn


class PageAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width)

    def forward(self, cards, real):
        pages, places, width = cards.shape
        shown = real.to(cards.dtype)[:, None, None, :]
        bias = (1.0 - shown) * -1e30
        q, k, v = (f(cards).reshape(pages, places, self.heads, -1).permute(0, 2, 1, 3)
                   for f in (self.query, self.key, self.value))
        weights = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + bias, dim=-1) * shown
        return self.output((weights @ v).permute(0, 2, 1, 3).reshape(pages, places, width))
