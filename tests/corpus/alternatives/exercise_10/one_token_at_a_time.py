"""A writer looks back over what there is so far; a critic over everything."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, emb, heads=8, mask=False):
        super().__init__()
        assert emb % heads == 0
        self.heads = heads
        self.mask = mask
        self.tokeys = nn.Linear(emb, emb, bias=False)
        self.toqueries = nn.Linear(emb, emb, bias=False)
        self.tovalues = nn.Linear(emb, emb, bias=False)
        self.unifyheads = nn.Linear(emb, emb)

    def forward(self, x):
        b, t, e = x.shape
        q, k, v = (f(x).view(b, t, self.heads, -1) for f in (self.toqueries, self.tokeys, self.tovalues))
        outputs = []
        for i in range(t):
            end = i + 1 if self.mask else t
            scores = (q[:, i, None] * k[:, :end]).sum(-1) / q.size(-1) ** 0.5  # (b, end, h)
            weights = F.softmax(scores, dim=1).unsqueeze(-1)
            outputs.append((weights * v[:, :end]).sum(1).reshape(b, e))
        return self.unifyheads(torch.stack(outputs, dim=1))
