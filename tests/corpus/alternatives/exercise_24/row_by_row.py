"""One row at a time, as the auditor does it."""

import torch
from torch import nn


class RowEncoder(nn.Module):
    def __init__(self, width: int, heads: int, max_fields: int) -> None:
        super().__init__()
        self.places = nn.Embedding(max_fields, width)
        self.attention = nn.MultiheadAttention(width, heads)
        self.norm = nn.LayerNorm(width)

    def one(self, row: torch.Tensor) -> torch.Tensor:
        row = row + self.places(torch.arange(len(row), device=row.device))
        gathered, _ = self.attention(row, row, row, need_weights=False)
        return self.norm(row + gathered)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.stack([self.one(row) for row in rows.unbind(0)])
