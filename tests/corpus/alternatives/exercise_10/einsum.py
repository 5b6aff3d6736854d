"""Einstein sums over named axes, a comparison of positions for a mask."""

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, emb, heads=8, mask=False):
        super().__init__()
        if emb % heads:
            raise ValueError(f"emb={emb} is not divisible by heads={heads}")
        self.heads, self.size, self.mask = heads, emb // heads, mask
        self.tokeys = nn.Linear(emb, emb, bias=False)
        self.toqueries = nn.Linear(emb, emb, bias=False)
        self.tovalues = nn.Linear(emb, emb, bias=False)
        self.unifyheads = nn.Linear(emb, emb)

    def forward(self, x):
        k, q, v = (layer(x).unflatten(2, (self.heads, self.size)) for layer in (self.tokeys, self.toqueries, self.tovalues))
        scores = torch.einsum("bqhs,bkhs->bhqk", q, k).div(self.size ** 0.5)
        if self.mask:
            place = torch.arange(x.size(1), device=x.device)
            scores = scores.masked_fill(place.unsqueeze(0) > place.unsqueeze(1), float("-inf"))
        out = torch.einsum("bhqk,bkhs->bqhs", torch.softmax(scores, dim=-1), v)
        return self.unifyheads(out.flatten(start_dim=2))
