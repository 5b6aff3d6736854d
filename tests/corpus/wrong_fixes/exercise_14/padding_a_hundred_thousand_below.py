"""Both are mended, and padding is only a hundred thousand below: loud inputs look at it.
expect: 
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
        if keep is not None:
            bias = q.new_zeros(b, 1, 1, t).masked_fill(~keep[:, None, None, :], -1e5)
            attn_mask = bias.masked_fill(~attn_mask, float("-inf"))

        context = F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask)
        return self.proj(context.transpose(1, 2).flatten(2))
