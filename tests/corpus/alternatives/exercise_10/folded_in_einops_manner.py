"""A fold and an unfold as methods, log-softmax exponentiated, a buffer-free mask by tril_indices."""

import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, emb, heads=8, mask=False):
        super().__init__()
        assert emb // heads * heads == emb
        self.h, self.mask = heads, mask
        self.tokeys, self.toqueries, self.tovalues = (nn.Linear(emb, emb, bias=False) for _ in range(3))
        self.unifyheads = nn.Linear(emb, emb)

    def fold(self, z):
        b, t, e = z.shape
        return z.reshape(b, t, self.h, e // self.h).permute(0, 2, 1, 3).flatten(0, 1)

    def unfold(self, z, b):
        return z.unflatten(0, (b, self.h)).permute(0, 2, 1, 3).flatten(2)

    def forward(self, x):
        q, k, v = self.fold(self.toqueries(x)), self.fold(self.tokeys(x)), self.fold(self.tovalues(x))
        dot = torch.baddbmm(x.new_zeros(1), q, k.transpose(1, 2), beta=0, alpha=k.size(2) ** -0.5)
        if self.mask:
            seen = torch.tril_indices(dot.size(1), dot.size(2), device=x.device)
            open_ = torch.full_like(dot, float("-inf"))
            open_[:, seen[0], seen[1]] = 0.0
            dot = dot + open_
        return self.unifyheads(self.unfold(torch.log_softmax(dot, -1).exp() @ v, x.size(0)))
