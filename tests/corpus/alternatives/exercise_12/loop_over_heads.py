"""Slices and a list: one head after the other."""

import math

import torch
from torch import nn


class ScaleDotProductAttention(nn.Module):
    def forward(self, q, k, v):
        score = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1))
        return torch.matmul(torch.softmax(score, dim=-1), v)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.attention = ScaleDotProductAttention()
        self.w_q, self.w_k, self.w_v = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
        self.w_concat = nn.Linear(d_model, d_model)

    def forward(self, q, k, v):
        heads = zip(*(z.chunk(self.n_head, dim=-1) for z in (self.w_q(q), self.w_k(k), self.w_v(v))))
        return self.w_concat(torch.cat([self.attention(*head) for head in heads], dim=-1))
