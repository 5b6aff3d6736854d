"""The two results come back as a named tuple."""

from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attended(NamedTuple):
    output: torch.Tensor
    attn_weights: torch.Tensor


class ScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        # query, key, value: (B, H, T, D)
        d_k = query.size(-1)
        scores = torch.matmul(query, key.transpose(-2, -1)) / torch.sqrt(torch.tensor(d_k, dtype=query.dtype))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
        attention_weights = F.softmax(scores, dim=-1)
        if mask is not None:
            # a query that may look at no key keeps no weight at all
            attention_weights = attention_weights.masked_fill(mask == 0, 0.0)
        dropped_weights = self.dropout(attention_weights)

        output = torch.matmul(dropped_weights, value)
        return output, attention_weights


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
        self.out_proj = nn.Linear(embed_dim, embed_dim)  # mixes what the heads found

        self.attention = ScaledDotProductAttention(dropout)

    def forward(self, x, mask=None):
        batch_size, seq_len, _ = x.shape

        # project, then one slice of the embedding for each head: (B, T, E) -> (B, T, H, D) -> (B, H, T, D)
        q = self.q_proj(x).view(batch_size, seq_len, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(batch_size, seq_len, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(batch_size, seq_len, self.num_heads, self.head_dim).transpose(1, 2)

        # every head at once: (B, H, T, D), and the weights (B, H, T, T)
        attn_output, attn_weights = self.attention(q, k, v, mask)

        # heads side by side again: (B, H, T, D) -> (B, T, E)
        attn_output = attn_output.transpose(1, 2).contiguous().view(batch_size, seq_len, self.embed_dim)
        output = self.out_proj(attn_output)

        return Attended(output, attn_weights)
