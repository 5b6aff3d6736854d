"""A class of its own with the parameters' old names, Einstein sums within."""

import torch
from torch import einsum, nn


class FieldAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * width))
        self.out_proj = nn.Linear(width, width)
        nn.init.xavier_uniform_(self.in_proj_weight)

    def forward(self, x):
        qkv = (x @ self.in_proj_weight.T + self.in_proj_bias).unflatten(-1, (3, self.heads, -1))
        q, k, v = qkv.unbind(dim=2)
        weights = (einsum("bihd,bjhd->bhij", q, k) / q.shape[-1] ** 0.5).softmax(-1)
        return self.out_proj(einsum("bhij,bjhd->bihd", weights, v).flatten(2))


class RowEncoder(nn.Module):
    def __init__(self, width, heads, max_fields):
        super().__init__()
        self.places = nn.Embedding(max_fields, width)
        self.attention = FieldAttention(width, heads)
        self.norm = nn.LayerNorm(width)

    def forward(self, rows):
        place = torch.arange(rows.shape[1], device=rows.device).expand(rows.shape[0], -1)
        fields = rows + self.places(place)
        return self.norm(fields + self.attention(fields))
