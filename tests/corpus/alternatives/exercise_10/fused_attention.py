"""torch's own attention has the switch already."""

import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, emb, heads=8, mask=False):
        super().__init__()
        assert emb % heads == 0
        self.heads = heads
        self.mask = mask
        self.tokeys = nn.Linear(emb, emb, bias=False)
        self.toqueries = nn.Linear(emb, emb, bias=False)
        self.tovalues = nn.Linear(emb, emb, bias=False)
        self.unifyheads = nn.Linear(emb, emb)

    def forward(self, x):
        b, t, e = x.shape
        split = lambda z: z.view(b, t, self.heads, e // self.heads).transpose(1, 2)
        out = F.scaled_dot_product_attention(
            split(self.toqueries(x)), split(self.tokeys(x)), split(self.tovalues(x)), is_causal=self.mask
        )
        return self.unifyheads(out.transpose(1, 2).reshape(b, t, e))
