"""torch's own attention; biases are added where they belong."""

import torch
from torch import nn
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

    def forward(self, patches):
        q, k, v = self.qkv(self.norm(patches)).chunk(3, dim=-1)
        split = lambda z: z.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        out = F.scaled_dot_product_attention(split(q + self.q_bias), split(k), split(v + self.v_bias))
        return patches + self.proj(out.transpose(1, 2).flatten(2))
