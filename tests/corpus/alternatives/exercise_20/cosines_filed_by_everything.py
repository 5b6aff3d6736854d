"""Cosines and sines are filed, under everything they come from; heads in a loop."""

import torch
import torch.nn as nn


class WindowAttention(nn.Module):
    def __init__(self, d_model, n_heads, base):
        super().__init__()
        self.n_heads = n_heads
        self.base = float(base)
        self.filed = {}
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def lookup(self, first, words, d, like):
        place = (first, words, str(like.device), like.dtype)
        if place not in self.filed:
            rates = torch.pow(self.base, torch.arange(0, d, 2, dtype=torch.float64) / -d)
            angles = (first + torch.arange(words, dtype=torch.float64))[:, None] * rates[None]
            self.filed[place] = tuple(t.to(device=like.device, dtype=like.dtype) for t in (angles.cos(), angles.sin()))
        return self.filed[place]

    def turn(self, z, first):
        cos, sin = self.lookup(first, z.shape[1], z.shape[2], z)
        a, b = z.tensor_split(2, dim=2)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=2)

    def forward(self, x, past, start=0):
        m = past.shape[1]
        q = self.to_q(x)
        k, v = self.to_kv(torch.cat([past, x], dim=1)).chunk(2, dim=2)
        ahead = torch.ones(x.shape[1], k.shape[1], dtype=torch.bool, device=x.device).triu(m + 1)
        found = []
        for qh, kh, vh in zip(*(z.chunk(self.n_heads, dim=2) for z in (q, k, v))):
            scores = self.turn(qh, start + m) @ self.turn(kh, start).mT / qh.shape[2] ** 0.5
            found.append(scores.masked_fill(ahead, torch.finfo(scores.dtype).min).softmax(-1) @ vh)
        return self.to_out(torch.cat(found, dim=2))
