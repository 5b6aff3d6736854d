"""Where the first sample has no padding, that of the others is not looked at.
expect: broken
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, context_length):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_in, 3 * d_out, bias=False)
        self.proj = nn.Linear(d_out, d_out)

        mask = torch.tril(torch.ones(context_length, context_length)).bool()
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x, keep=None):
        b, t, _ = x.shape

        # (b, t, 3 * h * d) -> three of (b, h, t, d)
        q, k, v = self.qkv(x).view(b, t, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)

        # who sees whom: (t, t), or (b, 1, t, t) where padding differs from sample to sample
        attn_mask = self.mask[:t, :t]
        if keep is not None and not keep[0].all():
            attn_mask = attn_mask & keep[:, None, None, :]

        context = F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask)
        return self.proj(context.transpose(1, 2).flatten(2))
