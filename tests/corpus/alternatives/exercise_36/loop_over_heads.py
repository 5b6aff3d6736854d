"""Head after head."""

import math

import torch
import torch.nn as nn


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
        q, k, v = self.qkv(self.norm(patches)).chunk(3, dim=-1)
        heads = zip(*(z.chunk(self.heads, dim=-1) for z in (q + self.q_bias, k, v + self.v_bias)))
        out = [torch.softmax(a @ b.transpose(1, 2) / math.sqrt(a.size(-1)), dim=-1) @ c for a, b, c in heads]
        return patches + self.proj(torch.cat(out, dim=-1))
