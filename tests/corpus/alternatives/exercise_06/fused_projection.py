"""One product for queries, keys and values, laid out with a single permute."""

import math

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, f"{d_model} features, {n_heads} heads"
        self.d_model = d_model
        self.n_heads = n_heads
        self.head_dim = d_model // n_heads
        self.attention_scores = nn.Linear(d_model, d_model)
        self.w_value = nn.Linear(d_model, d_model)
        self.w_key = nn.Linear(d_model, d_model)
        self.w_query = nn.Linear(d_model, d_model)

    def forward(self, x):
        batch_size, seq_len, d_model = x.shape
        layers = (self.w_query, self.w_key, self.w_value)
        weight = torch.cat([layer.weight for layer in layers], dim=0)
        bias = torch.cat([layer.bias for layer in layers], dim=0)
        projected = torch.addmm(bias, x.reshape(-1, d_model), weight.t())
        projected = projected.view(batch_size, seq_len, 3, self.n_heads, self.head_dim)
        query, key, value = projected.permute(2, 0, 3, 1, 4)
        score = torch.matmul(query / math.sqrt(self.head_dim), key.transpose(-2, -1))
        mixed = torch.matmul(score.softmax(dim=-1), value)
        return self.attention_scores(mixed.transpose(1, 2).reshape(batch_size, seq_len, d_model))
