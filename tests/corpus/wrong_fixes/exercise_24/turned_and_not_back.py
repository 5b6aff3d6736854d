"""The axes change places on the way in, and the rest is computed in that order and viewed back.
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

        turned = fields.transpose(0, 1)
        gathered = self.attention(turned, turned, turned, need_weights=False)[0].reshape(fields.shape)
        return self.norm(fields + gathered)
