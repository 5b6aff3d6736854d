"""The size of a head goes through int(), every view is a reshape, and NaN rows become zeros after the softmax."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        assert embed_dim % num_heads == 0, f"embed_dim ({embed_dim}) must be divisible by num_heads ({num_heads})"
        self.num_heads = num_heads
        self.head_dim = int(embed_dim / num_heads)

        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_out = nn.Linear(embed_dim, embed_dim)

        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        batch_size, seq_len, embed_dim = x.size()

        queries = self.W_q(x).reshape(batch_size, seq_len, self.num_heads, self.head_dim).transpose(1, 2)
        keys = self.W_k(x).reshape(batch_size, seq_len, self.num_heads, self.head_dim).transpose(1, 2)
        values = self.W_v(x).reshape(batch_size, seq_len, self.num_heads, self.head_dim).transpose(1, 2)

        attn_scores = torch.matmul(queries, keys.transpose(-2, -1)) / math.sqrt(self.head_dim)
        if mask is not None:
            attn_scores = attn_scores.masked_fill(mask == 0, float("-inf"))
        attn_weights = F.softmax(attn_scores, dim=-1)
        attn_weights = attn_weights.masked_fill(attn_weights.isnan(), 0.0)
        attn_weights = self.dropout(attn_weights)
        attn_values = torch.matmul(attn_weights, values)

        attn_values = attn_values.transpose(1, 2).contiguous().view(batch_size, seq_len, embed_dim)
        return self.W_out(attn_values)
