"""The rows of weights are taken for columns.
expect: unfixed=softmax-over-queries,scale-after-softmax
"""

import torch
from torch import einsum, nn


class ImageAttention(nn.Module):
    def __init__(self, channels, heads=4, dim_head=32):
        super().__init__()
        self.heads = heads
        self.scale = dim_head ** -0.5
        self.to_qkv = nn.Conv2d(channels, heads * dim_head * 3, 1, bias=False)
        self.to_out = nn.Conv2d(heads * dim_head, channels, 1)

    def forward(self, x):
        b, _, height, width = x.shape

        # all heads of q, then of k, then of v: (b, 3 * h * d, height, width) -> three of (b, h, d, pixels)
        qkv = self.to_qkv(x).chunk(3, dim=1)
        q, k, v = (t.reshape(b, self.heads, -1, height * width) for t in qkv)

        sim = einsum("bhdi,bhdj->bhij", q, k)
        attn = sim.softmax(dim=2)
        out = einsum("bhji,bhdj->bhdi", attn * self.scale, v)

        # back to an image, and the detour around the layer
        out = out.reshape(b, -1, height, width)
        return self.to_out(out) + x
