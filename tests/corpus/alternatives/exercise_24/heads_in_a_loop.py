"""The projections are cut up and used head by head."""

import math

import torch
import torch.nn as nn


class RowEncoder(nn.Module):
    def __init__(self, width, heads, max_fields):
        super().__init__()
        self.size = width // heads
        self.places = nn.Embedding(max_fields, width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def attend(self, x):
        qs, ks, vs = (x @ self.attention.in_proj_weight.mT + self.attention.in_proj_bias).chunk(3, -1)
        heads = []
        for q, k, v in zip(qs.split(self.size, -1), ks.split(self.size, -1), vs.split(self.size, -1)):
            heads.append(torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.size), -1), v))
        return self.attention.out_proj(torch.cat(heads, dim=-1))

    def forward(self, rows):
        index = torch.arange(rows.size(1), device=rows.device).unsqueeze(0)
        fields = torch.add(rows, self.places(index))
        return self.norm(fields + self.attend(fields))
