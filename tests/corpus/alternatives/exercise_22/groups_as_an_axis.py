"""Groups have an axis of their own, so nothing is stretched."""

import torch
from torch import einsum, nn


class GroupedAttention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads, window):
        super().__init__()
        self.kv, self.group, self.d = n_kv_heads, n_heads // n_kv_heads, dim // n_heads
        self.window = window
        self.wq = nn.Linear(dim, n_heads * self.d, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.d, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.d, bias=False)
        self.wo = nn.Linear(n_heads * self.d, dim, bias=False)

    def forward(self, x):
        q = self.wq(x).unflatten(-1, (self.kv, self.group, self.d))
        k = self.wk(x).unflatten(-1, (self.kv, self.d))
        v = self.wv(x).unflatten(-1, (self.kv, self.d))
        scores = einsum("bikgd,bjkd->bkgij", q, k) / self.d ** 0.5
        place = torch.arange(x.shape[1], device=x.device)
        distance = place[:, None] - place[None, :]
        scores = scores.masked_fill((distance < 0) | (distance >= self.window), -torch.inf)
        return self.wo(einsum("bkgij,bjkd->bikgd", scores.softmax(-1), v).flatten(2))
