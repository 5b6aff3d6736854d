"""Every product and every change of axes is an einsum over named axes."""

import torch
import torch.nn as nn


class ScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / query.shape[-1] ** 0.5
        if mask is None:
            weights = scores.softmax(dim=-1)
        else:
            hidden = mask == 0
            weights = scores.masked_fill(hidden, -1e9).softmax(dim=-1).masked_fill(hidden, 0)
        return torch.einsum("bhqk,bhkd->bhqd", self.dropout(weights), value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by num_heads {num_heads}")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)
        self.attention = ScaledDotProductAttention(dropout)

    def project(self, layer, x):
        # (H, D, E): one matrix for each head
        weight = layer.weight.view(self.num_heads, self.head_dim, self.embed_dim)
        bias = layer.bias.view(self.num_heads, 1, self.head_dim)
        return torch.einsum("bte,hde->bhtd", x, weight) + bias

    def forward(self, x, mask=None):
        q, k, v = (self.project(layer, x) for layer in (self.q_proj, self.k_proj, self.v_proj))
        heads, weights = self.attention(q, k, v, mask)
        return self.out_proj(heads.permute(0, 2, 1, 3).flatten(2)), weights
