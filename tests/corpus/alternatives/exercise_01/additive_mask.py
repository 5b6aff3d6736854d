"""The mask becomes a bias that is added to the scores, and rows without any key are multiplied by zero."""

import math

import torch
from torch import nn


def mask_to_bias(mask, dtype):
    """0 where a key may be seen, a very large negative number where it may not."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask == 0, -1e30)


class ScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        scores = (query / math.sqrt(query.size(-1))) @ key.transpose(-1, -2)
        if mask is not None:
            scores = scores + mask_to_bias(mask, scores.dtype)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            sees_something = (mask != 0).any(dim=-1, keepdim=True)
            weights = weights * sees_something.to(weights.dtype)
        return self.dropout(weights) @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        assert embed_dim % num_heads == 0, f"{embed_dim} % {num_heads} != 0"
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)
        self.attention = ScaledDotProductAttention(dropout)

    def _split(self, t):
        return t.unflatten(-1, (self.num_heads, self.head_dim)).movedim(-2, 1)

    def forward(self, x, mask=None):
        q = self._split(self.q_proj(x))
        k = self._split(self.k_proj(x))
        v = self._split(self.v_proj(x))
        out, weights = self.attention(q, k, v, mask=mask)
        out = out.movedim(1, -2).flatten(-2)
        return self.out_proj(out), weights
