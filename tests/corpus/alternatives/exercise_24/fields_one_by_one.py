"""Places are added field by field; the weights are asked for and not used."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class RowEncoder(nn.Module):
    def __init__(self, width, heads, max_fields):
        super().__init__()
        self.places = nn.Embedding(max_fields, width)
        self.attention = nn.MultiheadAttention(embed_dim=width, num_heads=heads, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def forward(self, rows):
        columns = [column + self.places.weight[i] for i, column in enumerate(rows.unbind(dim=1))]
        fields = torch.stack(columns, dim=1)
        gathered, weights = self.attention(query=fields, key=fields, value=fields)
        return F.layer_norm(gathered + fields, self.norm.normalized_shape, self.norm.weight, self.norm.bias, self.norm.eps)
