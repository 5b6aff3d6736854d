"""Pixels first, matrix products, and the image put together at the end."""

import math

import torch
import torch.nn as nn


class ImageAttention(nn.Module):
    def __init__(self, channels, heads=4, dim_head=32):
        super().__init__()
        self.heads, self.dim_head = heads, dim_head
        self.to_qkv = nn.Conv2d(channels, 3 * heads * dim_head, kernel_size=1, bias=False)
        self.to_out = nn.Conv2d(heads * dim_head, channels, kernel_size=1)

    def forward(self, x):
        batch, _, height, width = x.size()
        qkv = self.to_qkv(x).flatten(2).view(batch, 3, self.heads, self.dim_head, -1)
        q, k, v = qkv.transpose(-1, -2).unbind(1)  # each (batch, heads, pixels, dim_head)
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(self.dim_head), dim=-1)
        gathered = (weights @ v).transpose(-1, -2).reshape(batch, -1, height, width)
        return x + self.to_out(gathered)
