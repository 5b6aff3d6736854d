"""A loop over heads; the mask is a triangle of minus infinities that is added."""

import math

import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, emb, heads=8, mask=False):
        super().__init__()
        assert emb % heads == 0, (emb, heads)
        self.size = emb // heads
        self.mask = mask
        self.tokeys = nn.Linear(emb, emb, bias=False)
        self.toqueries = nn.Linear(emb, emb, bias=False)
        self.tovalues = nn.Linear(emb, emb, bias=False)
        self.unifyheads = nn.Linear(emb, emb)

    def forward(self, x):
        t = x.shape[1]
        ban = torch.zeros(t, t, dtype=x.dtype, device=x.device)
        if self.mask:
            ban = torch.full_like(ban, -math.inf).triu(diagonal=1)
        found = []
        for q, k, v in zip(*(z.split(self.size, dim=2) for z in (self.toqueries(x), self.tokeys(x), self.tovalues(x)))):
            scores = q @ k.mT / math.sqrt(self.size) + ban
            found.append(scores.softmax(dim=2) @ v)
        return self.unifyheads(torch.cat(found, dim=2))
