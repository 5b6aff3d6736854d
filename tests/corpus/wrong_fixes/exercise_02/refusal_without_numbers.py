"""Sizes that do not fit are refused without saying them, which is told as advice."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        assert embed_dim % num_heads == 0, (
            'Model embedding dimension must be divisible by number of attention heads'
        )
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads

        # four square projections: (B, T, E) -> (B, T, E)
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_out = nn.Linear(embed_dim, embed_dim)

        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        # x: (B, T, E)
        batch_size, seq_len, embed_dim = x.size()

        # Steps 1 to 3: project, cut E into H pieces of D, bring the heads forward: (B, H, T, D)
        queries = self.W_q(x).view(batch_size, seq_len, self.num_heads,
                                   self.head_dim).transpose(1, 2)
        keys = self.W_k(x).view(batch_size, seq_len, self.num_heads,
                                self.head_dim).transpose(1, 2)
        values = self.W_v(x).view(batch_size, seq_len, self.num_heads,
                                  self.head_dim).transpose(1, 2)

        # Step 4: scores, mask, weights, dropout: (B, H, T, T)
        attn_scores = torch.matmul(queries, keys.transpose(-2, -1)) / math.sqrt(self.head_dim)
        if mask is not None:
            attn_scores = attn_scores.masked_fill(mask == 0, torch.finfo(attn_scores.dtype).min)
        attn_weights = F.softmax(attn_scores, dim=-1)
        if mask is not None:
            # a query that may look at no key keeps no weight at all
            attn_weights = attn_weights.masked_fill(mask == 0, 0.0)
        attn_weights = self.dropout(attn_weights)
        # what each head gathers: (B, H, T, D)
        attn_values = torch.matmul(attn_weights, values)

        # Step 5: heads side by side: (B, H, T, D) -> (B, T, E)
        attn_values = attn_values.transpose(1, 2).reshape(batch_size, seq_len, embed_dim)

        # Step 6: mix what the heads found
        output = self.W_out(attn_values)

        return output
