"""The axes change places for the call, and back."""

import torch
from torch import nn


class RowEncoder(nn.Module):
    def __init__(self, width, heads, max_fields):
        super().__init__()
        self.places = nn.Embedding(max_fields, width)
        self.attention = nn.MultiheadAttention(width, heads)
        self.norm = nn.LayerNorm(width)

    def forward(self, rows):
        fields = rows + self.places.weight[: rows.size(1)]
        by_field = fields.transpose(0, 1)
        gathered = self.attention(by_field, by_field, by_field)[0].transpose(0, 1)
        return self.norm(fields + gathered)
