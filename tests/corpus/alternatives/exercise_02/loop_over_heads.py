"""One head at a time, cut out of the projections with chunk, and glued together with torch.cat."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        assert embed_dim % num_heads == 0, f"{embed_dim=} must be divisible by {num_heads=}"
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_out = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def one_head(self, q, k, v, mask):
        scores = torch.bmm(q, k.transpose(1, 2)) / self.head_dim**0.5
        if mask is None:
            return torch.bmm(self.dropout(F.softmax(scores, dim=-1)), v)
        hidden = mask == 0
        weights = F.softmax(scores.masked_fill(hidden, torch.finfo(scores.dtype).min), dim=-1)
        weights = weights.masked_fill(hidden, 0)
        return torch.bmm(self.dropout(weights), v)

    def forward(self, x, mask=None):
        batch_size, seq_len, _ = x.size()
        if mask is not None:
            mask = mask.expand(batch_size, self.num_heads, seq_len, seq_len)
        q = self.W_q(x).chunk(self.num_heads, dim=-1)
        k = self.W_k(x).chunk(self.num_heads, dim=-1)
        v = self.W_v(x).chunk(self.num_heads, dim=-1)
        heads = []
        for h in range(self.num_heads):
            heads.append(self.one_head(q[h], k[h], v[h], None if mask is None else mask[:, h]))
        return self.W_out(torch.cat(heads, dim=-1))
