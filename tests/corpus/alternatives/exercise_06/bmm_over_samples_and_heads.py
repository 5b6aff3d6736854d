"""Keeps torch.bmm: samples and heads are folded into its one batch axis."""

import math

import torch
import torch.nn as nn


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

    def fold(self, t):
        b, s, _ = t.shape
        return t.view(b, s, self.n_heads, self.head_dim).transpose(1, 2).reshape(b * self.n_heads, s, self.head_dim)

    def forward(self, x):
        b, s, _ = x.shape
        query, key, value = self.fold(self.w_query(x)), self.fold(self.w_key(x)), self.fold(self.w_value(x))
        score = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(self.head_dim)
        attention = torch.bmm(torch.softmax(score, dim=-1), value)
        attention = attention.view(b, self.n_heads, s, self.head_dim).transpose(1, 2).contiguous().view(b, s, self.d_model)
        return self.attention_scores(attention)
