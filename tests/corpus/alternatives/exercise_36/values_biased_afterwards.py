"""Weights sum to one, so the values' bias can be added at the end."""

import torch
from torch import nn


class PatchAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.q_bias = nn.Parameter(torch.zeros(width))
        self.v_bias = nn.Parameter(torch.zeros(width))
        self.proj = nn.Linear(width, width)

    def forward(self, patches):
        b, n, c = patches.shape
        q, k, v = self.qkv(self.norm(patches)).view(b, n, 3, c).unbind(2)
        q = q + self.q_bias
        q, k, v = (z.reshape(b, n, self.heads, -1).transpose(1, 2) for z in (q, k, v))
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        gathered = (weights @ v).transpose(1, 2).reshape(b, n, c) + self.v_bias
        return patches + self.proj(gathered)
