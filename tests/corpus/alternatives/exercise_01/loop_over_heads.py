"""Each head is computed on its own in a loop, with slices of the projections."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        # also takes single heads of shape (B, T, D)
        scores = query @ key.transpose(-2, -1) * query.size(-1) ** -0.5
        if mask is not None:
            visible = mask.bool().expand_as(scores)
            scores = torch.where(visible, scores, torch.full_like(scores, torch.finfo(scores.dtype).min))
            weights = torch.where(visible, F.softmax(scores, dim=-1), torch.zeros_like(scores))
        else:
            weights = F.softmax(scores, dim=-1)
        return self.dropout(weights) @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("Embedding dimension must be divisible by number of heads")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)
        self.attention = ScaledDotProductAttention(dropout)

    def forward(self, x, mask=None):
        batch_size, seq_len, _ = x.shape
        if mask is not None:
            mask = mask.expand(batch_size, self.num_heads, seq_len, seq_len)
        queries, keys, values = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        outputs, weights = [], []
        for head in range(self.num_heads):
            start = head * self.head_dim
            end = start + self.head_dim
            head_mask = None if mask is None else mask[:, head]
            out, w = self.attention(
                queries[..., start:end], keys[..., start:end], values[..., start:end], head_mask
            )
            outputs.append(out)
            weights.append(w)
        return self.out_proj(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)
