"""Einstein sums for both backends, an additive mask of minus infinities."""

import torch
from torch import einsum, nn


class Attention(nn.Module):
    def __init__(self, d_model, n_heads, scale_scores=True, backend="eager"):
        super().__init__()
        self.shape = (3, n_heads, d_model // n_heads)
        self.divisor = self.shape[2] ** 0.5 if scale_scores else 1.0
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, resid):
        q, k, v = self.qkv(resid).unflatten(-1, self.shape).unbind(2)
        scores = einsum("bqhd,bkhd->bhqk", q, k) / self.divisor
        scores = scores + torch.full_like(scores[0, 0], float("-inf")).triu(1)
        return self.out(einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).flatten(2))
