"""Heads put beside the samples for one product of matrices, at the one size that queries, keys and values have."""

import torch
from torch import nn


class ScaleDotProductAttention(nn.Module):
    def forward(self, q, k, v):
        batch, heads, queries, size = q.shape
        q, k, v = (each.reshape(batch * heads, -1, size) for each in (q, k, v))
        weights = torch.softmax(torch.baddbmm(q.new_zeros(()), q, k.transpose(1, 2), alpha=size**-0.5), dim=-1)
        return torch.bmm(weights, v).view(batch, heads, queries, size)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.attention = ScaleDotProductAttention()
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_concat = nn.Linear(d_model, d_model)

    def forward(self, q, k, v):
        batch, queries, width = q.shape
        projected = self.w_q(q), self.w_k(k), self.w_v(v)
        heads = (each.unflatten(-1, (self.n_head, width // self.n_head)).transpose(1, 2) for each in projected)
        return self.w_concat(self.attention(*heads).transpose(1, 2).reshape(batch, queries, width))
