"""Small repairs, and the softmax spelled out over the last axis."""

import torch
from torch import einsum, nn


class ImageAttention(nn.Module):
    def __init__(self, channels, heads=4, dim_head=32):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Conv2d(channels, heads * dim_head * 3, 1, bias=False)
        self.to_out = nn.Conv2d(heads * dim_head, channels, 1)

    def forward(self, x):
        b, c, height, width = x.shape
        q, k, v = (t.reshape(b, self.heads, -1, height * width) for t in self.to_qkv(x).chunk(3, dim=1))
        sim = einsum("bhdi,bhdj->bhij", q, k) / q.shape[2] ** 0.5
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        attn = sim.exp()
        attn = attn / attn.sum(dim=-1, keepdim=True)
        out = einsum("bhij,bhdj->bhdi", attn, v).reshape(b, -1, height, width)
        return self.to_out(out) + x
