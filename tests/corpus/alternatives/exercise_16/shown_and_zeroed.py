"""Empty pages see everything for a moment, and get zero weights afterwards."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class PageAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width)

    def forward(self, cards, real):
        p, c, w = cards.shape
        q, k, v = (f(cards).view(p, c, self.heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        empty = ~real.any(dim=1)
        visible = real | empty[:, None]
        scores = (q @ k.mT / math.sqrt(q.size(-1))).masked_fill(~visible[:, None, None], float("-inf"))
        weights = F.softmax(scores, dim=-1) * (~empty)[:, None, None, None]
        return self.output((weights @ v).transpose(1, 2).reshape(p, c, w))
