"""One head after the other, each with its slices of the features."""

import torch
from torch import nn


class ImageAttention(nn.Module):
    def __init__(self, channels, heads=4, dim_head=32):
        super().__init__()
        self.heads = heads
        self.size = dim_head
        self.to_qkv = nn.Conv2d(channels, heads * dim_head * 3, 1, bias=False)
        self.to_out = nn.Conv2d(heads * dim_head, channels, 1)

    def look(self, q, k, v):
        """(b, d, pixels) each."""
        scores = torch.bmm(q.transpose(1, 2), k) * self.size ** -0.5
        return torch.bmm(v, torch.softmax(scores, dim=2).transpose(1, 2))

    def forward(self, x):
        flat = self.to_qkv(x).flatten(start_dim=2)
        q, k, v = torch.tensor_split(flat, 3, dim=1)
        parts = zip(q.split(self.size, 1), k.split(self.size, 1), v.split(self.size, 1))
        out = torch.cat([self.look(*part) for part in parts], dim=1)
        return self.to_out(out.unflatten(2, x.shape[-2:])) + x
