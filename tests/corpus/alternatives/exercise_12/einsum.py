"""Einstein sums; the heads never move."""

import torch
from torch import nn


class ScaleDotProductAttention(nn.Module):
    def forward(self, q, k, v):
        weights = torch.einsum("bhid,bhjd->bhij", q, k).div(k.shape[-1] ** 0.5).softmax(-1)
        return torch.einsum("bhij,bhjd->bhid", weights, v)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head, self.d = n_head, d_model // n_head
        self.attention = ScaleDotProductAttention()
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_concat = nn.Linear(d_model, d_model)

    def project(self, layer, z):
        weight = layer.weight.unflatten(0, (self.n_head, self.d))
        return torch.einsum("ble,hde->bhld", z, weight)

    def forward(self, q, k, v):
        out = self.attention(self.project(self.w_q, q), self.project(self.w_k, k), self.project(self.w_v, v))
        weight = self.w_concat.weight.unflatten(1, (self.n_head, self.d))
        return torch.einsum("bhld,ehd->ble", out, weight) + self.w_concat.bias
