"""The scores stand the other way round: keys first, so the softmax runs over the axis before the last."""

import torch
import torch.nn as nn


class ImageAttention(nn.Module):
    def __init__(self, channels, heads=4, dim_head=32):
        super().__init__()
        self.heads, self.scale = heads, dim_head ** -0.5
        self.to_qkv = nn.Conv2d(channels, heads * dim_head * 3, (1, 1), bias=False)
        self.to_out = nn.Conv2d(heads * dim_head, channels, (1, 1))

    def forward(self, x):
        b, c, m, n = x.shape
        q, k, v = self.to_qkv(x).reshape(b, 3, self.heads, -1, m * n).permute(1, 0, 2, 3, 4)
        weights = (k.transpose(2, 3) @ (self.scale * q)).softmax(dim=-2)  # (b, heads, looked at, looking)
        return self.to_out((v @ weights).reshape(b, -1, m, n)).add(x)
