"""Scores and weighted sums by torch.bmm over samples and heads, and the dropout from nn.functional."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class PrepareForMultiHeadAttention(nn.Module):
    def __init__(self, d_model, heads, d_k, bias):
        super().__init__()
        self.linear = nn.Linear(d_model, heads * d_k, bias=bias)
        self.heads = heads
        self.d_k = d_k

    def forward(self, x):
        y = F.linear(x, self.linear.weight, self.linear.bias)
        return y.view(*x.shape[:-1], self.heads, self.d_k)


class MultiHeadAttention(nn.Module):
    def __init__(self, heads, d_model, dropout_prob=0.1, bias=True):
        super().__init__()
        assert d_model % heads == 0, f"d_model={d_model}, heads={heads}"
        self.heads = heads
        self.d_k = d_model // heads
        self.query = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias=bias)
        self.key = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias=bias)
        self.value = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias=bias)
        self.output = nn.Linear(d_model, d_model)
        self.dropout_prob = dropout_prob
        self.attn = None

    def fold(self, t):
        """(T, B, H, S) -> (B * H, T, S)"""
        return t.flatten(1, 2).transpose(0, 1)

    def get_scores(self, query, key):
        products = torch.bmm(self.fold(query), self.fold(key).transpose(1, 2))  # (B * H, Tq, Tk)
        return products.permute(1, 2, 0).unflatten(2, query.shape[1:3])

    def forward(self, *, query, key, value, mask=None):
        n_queries, n_samples, d_model = query.shape
        n_keys = len(key)
        if mask is not None:
            given = tuple(mask.shape)
            possible = [(i, n_keys, b) for i in (1, n_queries) for b in (1, n_samples)]
            if given not in possible:
                raise ValueError(f"mask of shape {given}; possible are, as (queries, keys, batch): {possible}")
        scores = self.get_scores(self.query(query), self.key(key)) * (1 / math.sqrt(self.d_k))
        if mask is not None:
            scores = scores.masked_fill(~mask.bool().unsqueeze(3), -torch.inf)
        weights = torch.softmax(scores, dim=1)
        self.attn = weights.detach()
        weights = F.dropout(weights, self.dropout_prob, self.training)
        folded = weights.flatten(2).permute(2, 0, 1)  # (B * H, Tq, Tk)
        mixed = torch.bmm(folded, self.fold(self.value(value)))
        return self.output(mixed.transpose(0, 1).reshape(n_queries, n_samples, d_model))
