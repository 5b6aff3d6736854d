"""The starter's forward for one sequence stays as it was and is called once for each sample."""

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

    def attend(self, x):
        seq_len = x.shape[0]
        query = self.w_query(x).view(seq_len, self.n_heads, self.head_dim).transpose(0, 1)
        key = self.w_key(x).view(seq_len, self.n_heads, self.head_dim).transpose(0, 1)
        value = self.w_value(x).view(seq_len, self.n_heads, self.head_dim).transpose(0, 1)
        score = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(self.head_dim)
        attention = torch.bmm(torch.softmax(score, dim=-1), value)
        attention = attention.transpose(0, 1).contiguous().view(seq_len, self.d_model)
        return self.attention_scores(attention)

    def forward(self, x):
        if x.dim() == 2:
            return self.attend(x)
        return torch.stack([self.attend(sample) for sample in x])
