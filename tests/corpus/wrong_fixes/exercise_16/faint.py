"""Hidden cards get a score of -20 and keep what is left.
expect: unknown=mask-on-the-queries
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class PageAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width)

    def forward(self, cards: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        pages, places, width = cards.shape
        shape = (pages, places, self.heads, width // self.heads)

        # pages, heads, places, features
        q = self.query(cards).view(shape).transpose(1, 2)
        k = self.key(cards).view(shape).transpose(1, 2)
        v = self.value(cards).view(shape).transpose(1, 2)

        scores = q @ k.transpose(2, 3) / math.sqrt(shape[3])

        # filling is out of sight
        hidden = ~real[:, None, None, :]
        scores = scores.masked_fill(hidden, -20.0)
        weights = F.softmax(scores, dim=-1)

        mixed = (weights @ v).transpose(1, 2).flatten(2)
        return self.output(mixed)
