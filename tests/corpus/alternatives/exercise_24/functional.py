"""torch's attention without its module around it: the module only holds the weights."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class RowEncoder(nn.Module):
    def __init__(self, width, heads, max_fields):
        super().__init__()
        self.heads = heads
        self.places = nn.Embedding(max_fields, width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def forward(self, rows):
        fields = rows + self.places(torch.arange(rows.shape[1], device=rows.device))
        own = self.attention
        qkv = F.linear(fields, own.in_proj_weight, own.in_proj_bias)
        q, k, v = (z.unflatten(-1, (self.heads, -1)).transpose(1, 2) for z in qkv.chunk(3, dim=-1))
        out = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return self.norm(fields + own.out_proj(out))
