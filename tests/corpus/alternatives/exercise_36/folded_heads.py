"""Heads in the batch; the norm as a function."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class PatchAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.q_bias = nn.Parameter(torch.zeros(width))
        self.v_bias = nn.Parameter(torch.zeros(width))
        self.proj = nn.Linear(width, width)

    def fold(self, z):
        return z.unflatten(-1, (self.heads, -1)).transpose(1, 2).flatten(0, 1)

    def forward(self, patches):
        z = F.layer_norm(patches, self.norm.normalized_shape, self.norm.weight, self.norm.bias, self.norm.eps)
        wq, wk, wv = self.qkv.weight.chunk(3)
        q, k, v = F.linear(z, wq, self.q_bias), F.linear(z, wk), F.linear(z, wv, self.v_bias)
        q, k, v = self.fold(q), self.fold(k), self.fold(v)
        out = torch.bmm(torch.bmm(q, k.transpose(1, 2)).mul(q.size(2) ** -0.5).softmax(2), v)
        return self.proj(out.unflatten(0, (-1, self.heads)).transpose(1, 2).flatten(2)).add(patches)
