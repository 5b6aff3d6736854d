"""Cross attention: a decoder looks at an encoder's memory."""

import math

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, num_heads=4, dropout=0.0, bias=True):
        super().__init__()
        if query_dim % num_heads != 0:
            raise ValueError(f"query_dim {query_dim} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.head_dim = query_dim // num_heads
        self.to_q = nn.Linear(query_dim, query_dim, bias=bias)
        self.to_k = nn.Linear(context_dim, query_dim, bias=bias)
        self.to_v = nn.Linear(context_dim, query_dim, bias=bias)
        self.to_out = nn.Linear(query_dim, query_dim)
        self.dropout = nn.Dropout(dropout)

    def split(self, t):
        b, n, _ = t.shape
        return t.view(b, n, self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, x, context, context_mask=None):
        b, n, _ = x.shape
        q = self.split(self.to_q(x))
        k = self.split(self.to_k(context))
        v = self.split(self.to_v(context))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if context_mask is not None:
            scores = scores.masked_fill(~context_mask[:, None, None, :], float("-inf"))
        weights = scores.softmax(dim=-2)
        out = self.dropout(weights) @ v
        out = out.transpose(1, 2).reshape(b, n, -1)
        return self.to_out(out), weights
