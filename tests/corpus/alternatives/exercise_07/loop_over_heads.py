"""After the scoring, each head is masked, normalised and gathered in a loop."""

import math

import torch
from torch import nn


class PrepareForMultiHeadAttention(nn.Module):
    def __init__(self, d_model, heads, d_k, bias):
        super().__init__()
        self.linear = nn.Linear(d_model, heads * d_k, bias=bias)
        self.heads = heads
        self.d_k = d_k

    def forward(self, x):
        return self.linear(x).reshape(*x.shape[:-1], self.heads, self.d_k)


class MultiHeadAttention(nn.Module):
    def __init__(self, heads, d_model, dropout_prob=0.1, bias=True):
        super().__init__()
        self.d_k, left_over = divmod(d_model, heads)
        if left_over != 0:
            raise ValueError(f"d_model={d_model} is not divisible by heads={heads}")
        self.heads = heads
        self.query = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias=bias)
        self.key = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias=bias)
        self.value = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias=bias)
        self.output = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout_prob)
        self.attn = None

    def get_scores(self, query, key):
        return torch.einsum("ibhd,jbhd->ijbh", query, key)

    def forward(self, *, query, key, value, mask=None):
        n_queries, n_samples = query.shape[:2]
        n_keys = key.shape[0]
        if mask is not None:
            allowed = [{1, n_queries}, {n_keys}, {1, n_samples}]
            if mask.ndim != 3 or any(size not in sizes for size, sizes in zip(mask.shape, allowed)):
                raise ValueError(
                    f"mask: got {tuple(mask.shape)}, want {n_queries} (or 1) x {n_keys} x {n_samples} (or 1), "
                    "that is queries x keys x samples"
                )
        scores = self.get_scores(self.query(query), self.key(key))
        values = self.value(value)
        gathered, kept = [], []
        for h in range(self.heads):
            head_scores = scores[..., h] / math.sqrt(self.d_k)  # (Tq, Tk, B)
            if mask is not None:
                head_scores = head_scores.masked_fill(mask == 0, -1e9)
            weights = head_scores.softmax(dim=1)
            kept.append(weights.detach())
            gathered.append(torch.einsum("ijb,jbd->ibd", self.dropout(weights), values[:, :, h]))
        self.attn = torch.stack(kept, dim=-1)
        return self.output(torch.cat(gathered, dim=-1))
