"""Einsums with an ellipsis for whatever stands before the tokens."""

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, "d_model must be divisible by n_heads"
        self.d_model, self.n_heads, self.head_dim = d_model, n_heads, d_model // n_heads
        self.w_query = nn.Linear(d_model, d_model)
        self.w_key = nn.Linear(d_model, d_model)
        self.w_value = nn.Linear(d_model, d_model)
        self.attention_scores = nn.Linear(d_model, d_model)

    def forward(self, x):
        shape = (*x.shape[:-1], self.n_heads, self.head_dim)
        query = self.w_query(x).reshape(shape)
        key = self.w_key(x).reshape(shape)
        value = self.w_value(x).reshape(shape)
        score = torch.einsum("...qhd,...khd->...hqk", query, key) * self.head_dim**-0.5
        attention = torch.einsum("...hqk,...khd->...qhd", score.softmax(-1), value)
        return self.attention_scores(attention.reshape(x.shape))
