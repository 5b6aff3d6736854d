"""The softmax is always computed in float32, as in models that run in half precision."""

import torch
import torch.nn as nn
import math


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, "d_model must be divisible by n_heads"

        self.d_model = d_model
        self.n_heads = n_heads
        self.head_dim = d_model // n_heads

        self.w_query = nn.Linear(d_model, d_model)
        self.w_key = nn.Linear(d_model, d_model)
        self.w_value = nn.Linear(d_model, d_model)
        self.attention_scores = nn.Linear(d_model, d_model)

    def forward(self, x):
        *batch, seq_len, _ = x.shape
        query = self.w_query(x)
        key = self.w_key(x)
        value = self.w_value(x)

        # cut E into H heads of D, then the heads before the tokens: (..., H, T, D)
        query = query.view(*batch, seq_len, self.n_heads, self.head_dim).transpose(-3, -2)
        key = key.view(*batch, seq_len, self.n_heads, self.head_dim).transpose(-3, -2)
        value = value.view(*batch, seq_len, self.n_heads, self.head_dim).transpose(-3, -2)

        # score: (..., H, T, T)
        score = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.head_dim)

        # attention: (..., H, T, D)
        attention = torch.matmul(torch.softmax(score, dim=-1, dtype=torch.float32).to(x.dtype), value)

        # heads side by side: (..., T, E)
        attention = attention.transpose(-3, -2).contiguous().view(*batch, seq_len, self.d_model)
        return self.attention_scores(attention)
