"""A boolean lower-triangular buffer, a very negative finite fill, and the scale applied to the queries."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    """Single-head causal attention."""

    def __init__(self, input_dim, output_dim, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.output_dim = output_dim
        self.scale = output_dim**-0.5
        self.W_query = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_key = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_value = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("visible", torch.ones(context_length, context_length, dtype=torch.bool).tril())

    def _check_length(self, length):
        limit = self.visible.size(0)
        if length > limit:
            raise ValueError(f"sequence length {length} is greater than context_length {limit}")

    def forward(self, x):
        length = x.size(1)
        self._check_length(length)
        query = self.W_query(x) * self.scale
        scores = query.matmul(self.W_key(x).transpose(-1, -2))
        scores = scores.masked_fill(~self.visible[:length, :length], -1e9)
        weights = F.dropout(F.softmax(scores, dim=-1), p=self.dropout.p, training=self.training)
        return weights.matmul(self.W_value(x))
