import math

import torch
import torch.nn as nn


class ScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        *lead, n_queries, size = query.shape
        n_keys = key.shape[-2]
        q = query.reshape(-1, n_queries, size)
        k = key.reshape(-1, n_keys, size)
        v = value.reshape(-1, n_keys, value.shape[-1])
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(size)
        visible = torch.ones(*lead, n_queries, n_keys, dtype=torch.bool, device=scores.device)
        if mask is not None:
            visible = visible & (mask != 0)
        visible = visible.reshape(scores.shape)
        top = scores.detach().amax(dim=-1, keepdim=True)
        odds = torch.exp(scores - top) * visible
        total = odds.sum(dim=-1, keepdim=True)
        weights = odds / total.masked_fill(total == 0, 1.0)
        output = torch.bmm(self.dropout(weights), v)
        return output.view(*lead, n_queries, -1), weights.view(*lead, n_queries, n_keys)


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        assert embed_dim % num_heads == 0, "Embedding dimension must be divisible by number of heads"
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)
        self.attention = ScaledDotProductAttention(dropout)

    def forward(self, x, mask=None):
        B, T, E = x.shape

        def heads(t):
            return t.view(B, T, self.num_heads, self.head_dim).permute(0, 2, 1, 3).contiguous()

        context, weights = self.attention(heads(self.q_proj(x)), heads(self.k_proj(x)), heads(self.v_proj(x)), mask)
        context = context.permute(0, 2, 1, 3).reshape(B, T, E)
        return self.out_proj(context), weights
