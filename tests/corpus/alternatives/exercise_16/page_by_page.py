"""Each page by itself: only its real cards are ever looked at."""

import torch
import torch.nn as nn


class PageAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.output = nn.Linear(width, width)

    def one(self, cards, real):
        shown = torch.where(real[:, None], cards, 0.0)
        q, k, v = (f(z).unflatten(1, (self.heads, -1)).transpose(0, 1)
                   for f, z in ((self.query, cards), (self.key, shown), (self.value, shown)))
        scores = q @ k.transpose(1, 2) / k.size(2) ** 0.5
        scores = torch.where(real, scores, torch.finfo(scores.dtype).min)
        weights = torch.where(real, scores.softmax(2), 0.0)
        return (weights @ v).transpose(0, 1).flatten(1)

    def forward(self, cards, real):
        return self.output(torch.stack([self.one(*page) for page in zip(cards, real)]))
