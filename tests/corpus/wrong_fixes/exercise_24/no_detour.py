"""What was gathered replaces the fields.
expect: 
"""

import torch
from torch import nn


class RowEncoder(nn.Module):
    def __init__(self, width, heads, max_fields):
        super().__init__()
        self.places = nn.Embedding(max_fields, width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def forward(self, rows):
        # rows: (batch, fields, width)
        index = torch.arange(rows.size(1), device=rows.device)
        fields = rows + self.places(index)

        gathered, _ = self.attention(fields, fields, fields, need_weights=False)
        return self.norm(gathered)
