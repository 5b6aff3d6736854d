"""Heads become samples; bmm does the rest."""

import torch
from torch import nn


class ScaleDotProductAttention(nn.Module):
    def forward(self, q, k, v):
        lead = q.shape[:-2]
        q, k, v = (z.reshape(-1, *z.shape[-2:]) for z in (q, k, v))
        weights = torch.bmm(q * k.size(-1) ** -0.5, k.permute(0, 2, 1)).softmax(dim=2)
        return torch.bmm(weights, v).unflatten(0, lead)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.attention = ScaleDotProductAttention()
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_concat = nn.Linear(d_model, d_model)

    def split(self, z):
        return torch.stack(z.tensor_split(self.n_head, dim=2), dim=1)

    def concat(self, z):
        return torch.cat(z.unbind(dim=1), dim=2)

    def forward(self, q, k, v):
        q, k, v = self.w_q(q), self.w_k(k), self.w_v(v)
        return self.w_concat(self.concat(self.attention(self.split(q), self.split(k), self.split(v))))
