"""Heads one by one, each with rows of the layers' weights through functional.linear."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.d_model = d_model
        self.n_heads = n_heads
        self.head_dim = int(d_model / n_heads)
        self.w_query = nn.Linear(d_model, d_model)
        self.w_key = nn.Linear(d_model, d_model)
        self.w_value = nn.Linear(d_model, d_model)
        self.attention_scores = nn.Linear(d_model, d_model)

    def forward(self, x):
        heads = []
        for h in range(self.n_heads):
            rows = slice(h * self.head_dim, (h + 1) * self.head_dim)
            query = F.linear(x, self.w_query.weight[rows], self.w_query.bias[rows])
            key = F.linear(x, self.w_key.weight[rows], self.w_key.bias[rows])
            value = F.linear(x, self.w_value.weight[rows], self.w_value.bias[rows])
            score = query @ key.transpose(-1, -2) / self.head_dim**0.5
            heads.append(F.softmax(score, dim=-1) @ value)
        return self.attention_scores(torch.cat(heads, dim=-1))
