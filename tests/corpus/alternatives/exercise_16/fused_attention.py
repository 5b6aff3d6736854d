"""torch's own attention returns zeros where nothing may be seen, and knows how to differentiate that."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class PageAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width)

    def forward(self, cards, real):
        split = lambda z: z.unflatten(2, (self.heads, -1)).transpose(1, 2)
        q, k, v = split(self.query(cards)), split(self.key(cards)), split(self.value(cards))
        filled = real.any(dim=1)
        mask = (real | ~filled[:, None])[:, None, None, :].expand(-1, -1, cards.size(1), -1)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        mixed = mixed.masked_fill(~filled[:, None, None, None], 0.0)
        return self.output(mixed.transpose(1, 2).flatten(2))
