"""The mask is turned into a bias; the weighted sum is a broadcast product."""

import math

import torch
from torch import nn


class PrepareForMultiHeadAttention(nn.Module):
    def __init__(self, d_model, heads, d_k, bias):
        super().__init__()
        self.heads = heads
        self.d_k = d_k
        self.linear = nn.Linear(d_model, heads * d_k, bias=bias)

    def forward(self, x):
        return torch.stack(self.linear(x).split(self.d_k, dim=-1), dim=-2)


class MultiHeadAttention(nn.Module):
    def __init__(self, heads, d_model, dropout_prob=0.1, bias=True):
        super().__init__()
        if heads < 1 or d_model % heads:
            raise ValueError(f"cannot cut d_model={d_model} into heads={heads} equal parts")
        self.heads = heads
        self.d_k = d_model // heads
        self.query = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.key = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.value = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.softmax = nn.Softmax(dim=1)
        self.output = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout_prob)
        self.attn = None

    def get_scores(self, query, key):
        return (query.unsqueeze(1) * key.unsqueeze(0)).sum(dim=-1)

    def bias_from(self, mask, scores):
        n_queries, n_keys, n_samples, _ = scores.shape
        layout = f"({n_queries} or 1, {n_keys}, {n_samples} or 1)"
        if mask.dim() != 3:
            raise ValueError(f"mask has {mask.dim()} axes (shape {tuple(mask.shape)}), expected 3: {layout}")
        if mask.size(0) not in (1, n_queries) or mask.size(1) != n_keys or mask.size(2) not in (1, n_samples):
            raise ValueError(f"mask has shape {tuple(mask.shape)}, expected {layout}")
        return torch.zeros(mask.shape, dtype=scores.dtype, device=mask.device).masked_fill(mask == 0, -math.inf).unsqueeze(-1)

    def forward(self, *, query, key, value, mask=None):
        scores = self.get_scores(self.query(query), self.key(key))
        if mask is None:
            weights = self.softmax(scores / math.sqrt(self.d_k))
        else:
            weights = self.softmax(scores / math.sqrt(self.d_k) + self.bias_from(mask, scores))
        self.attn = weights.detach()
        values = self.value(value)
        mixed = (self.dropout(weights).unsqueeze(-1) * values.unsqueeze(0)).sum(dim=1)
        return self.output(mixed.reshape(*query.shape[:2], -1))
