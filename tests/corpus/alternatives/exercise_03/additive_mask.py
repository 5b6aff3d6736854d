"""A buffer of zeros and minus infinities is added to the scores, which are scaled beforehand."""

import math

import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, input_dim, output_dim, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.output_dim = output_dim
        self.W_query = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_key = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_value = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        bias = torch.full((context_length, context_length), float("-inf")).triu(1)
        self.register_buffer("causal_bias", bias, persistent=False)

    def forward(self, x):
        _, length, _ = x.shape
        limit = len(self.causal_bias)
        if length > limit:
            raise ValueError(f"too long: {length} > {limit}")
        scores = torch.baddbmm(
            self.causal_bias[:length, :length].to(x.dtype),
            self.W_query(x),
            self.W_key(x).transpose(1, 2),
            alpha=1 / math.sqrt(self.output_dim),
        )
        return torch.bmm(self.dropout(torch.softmax(scores, dim=2)), self.W_value(x))
