"""Rows of a table, their fields looking at each other."""

import torch
from torch import nn


class RowEncoder(nn.Module):
    def __init__(self, width, heads, max_fields):
        super().__init__()
        self.places = nn.Embedding(max_fields, width)
        self.attention = nn.MultiheadAttention(width, heads)
        self.norm = nn.LayerNorm(width)

    def forward(self, rows):
        # rows: (batch, fields, width)
        index = torch.arange(rows.size(0), device=rows.device).unsqueeze(1)
        fields = rows + self.places(index)

        gathered, _ = self.attention(fields, fields, fields, need_weights=False)
        return self.norm(fields + gathered)
