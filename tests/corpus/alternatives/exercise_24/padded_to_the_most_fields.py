"""Every row is padded to `max_fields`, and a mask hides the padding."""

import torch
import torch.nn as nn


class RowEncoder(nn.Module):
    def __init__(self, width, heads, max_fields):
        super().__init__()
        self.places = nn.Embedding(max_fields, width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def forward(self, rows):
        batch, count, width = rows.shape
        padding = rows.new_zeros(batch, self.places.num_embeddings - count, width)
        fields = torch.cat([rows, padding], dim=1) + self.places.weight
        is_padding = torch.arange(fields.size(1), device=rows.device) >= count
        hidden = is_padding.expand(batch, -1)
        gathered, _ = self.attention(fields, fields, fields, key_padding_mask=hidden, need_weights=False)
        return self.norm(fields + gathered)[:, :count]
