"""The starter with a batch axis written into each of its lines; a bare sequence gets a batch of one."""

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

    def forward(self, x):
        if x.dim() == 2:
            return self.forward(x.unsqueeze(0)).squeeze(0)
        batch_size, seq_len, _ = x.shape
        query = self.w_query(x)
        key = self.w_key(x)
        value = self.w_value(x)

        query = query.view(batch_size, seq_len, self.n_heads, self.head_dim).transpose(1, 2)
        key = key.view(batch_size, seq_len, self.n_heads, self.head_dim).transpose(1, 2)
        value = value.view(batch_size, seq_len, self.n_heads, self.head_dim).transpose(1, 2)

        score = query @ key.transpose(2, 3) / math.sqrt(self.head_dim)
        attention = torch.softmax(score, dim=-1) @ value

        attention = attention.transpose(1, 2).reshape(batch_size, seq_len, self.d_model)
        return self.attention_scores(attention)
