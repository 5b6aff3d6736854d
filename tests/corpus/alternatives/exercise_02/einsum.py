"""Products are einsums with the heads left where the split puts them, behind the tokens."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        self.head_dim, rest = divmod(embed_dim, num_heads)
        if rest:
            raise ValueError(f"embed_dim={embed_dim} is no multiple of num_heads={num_heads}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_out = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        split = (self.num_heads, self.head_dim)
        q = self.W_q(x).unflatten(2, split)
        k = self.W_k(x).unflatten(2, split)
        v = self.W_v(x).unflatten(2, split)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * self.head_dim**-0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = scores.softmax(dim=-1)
        if mask is not None:
            weights = weights.masked_fill(mask == 0, 0.0)
        heads = torch.einsum("bhqk,bkhd->bqhd", self.dropout(weights), v)
        return self.W_out(heads.flatten(2))
