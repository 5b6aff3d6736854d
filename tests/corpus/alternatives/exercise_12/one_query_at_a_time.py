"""Products written as sums, one query at a time."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ScaleDotProductAttention(nn.Module):
    def forward(self, q, k, v):
        found = []
        for query in q.unbind(dim=2):
            score = (query.unsqueeze(2) * k).sum(-1) / k.size(3) ** 0.5
            found.append((F.softmax(score, dim=2).unsqueeze(3) * v).sum(2))
        return torch.stack(found, dim=2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int):
        super().__init__()
        self.n_head: int = n_head
        self.attention = ScaleDotProductAttention()
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_concat = nn.Linear(d_model, d_model)

    def forward(self, q, k, v):
        q, k, v = map(self._split, (self.w_q(q), self.w_k(k), self.w_v(v)))
        out = self.attention(q, k, v)
        batch, heads, length, size = out.shape
        joined = out.new_empty(batch, length, heads, size)
        for h in range(heads):
            joined[:, :, h] = out[:, h]
        return self.w_concat(joined.flatten(2))

    def _split(self, z):
        return z.view(z.size(0), z.size(1), self.n_head, -1).permute(0, 2, 1, 3)
