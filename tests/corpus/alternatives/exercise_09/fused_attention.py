"""torch's own attention, pixels as tokens."""

import torch.nn as nn
import torch.nn.functional as F


class ImageAttention(nn.Module):
    def __init__(self, channels, heads=4, dim_head=32):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Conv2d(channels, heads * dim_head * 3, 1, bias=False)
        self.to_out = nn.Conv2d(heads * dim_head, channels, 1)

    def forward(self, x):
        def tokens(t):
            return t.flatten(2).unflatten(1, (self.heads, -1)).mT

        q, k, v = map(tokens, self.to_qkv(x).chunk(3, dim=1))
        out = F.scaled_dot_product_attention(q, k, v)
        return self.to_out(out.mT.flatten(1, 2).view(x.shape[0], -1, *x.shape[2:])) + x
