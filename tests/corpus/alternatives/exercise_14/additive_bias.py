"""One bias of zeros and minus infinities, made anew at each call."""

import torch
from torch import nn
from torch.nn import functional as F


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, context_length):
        super().__init__()
        self.heads = num_heads
        self.qkv = nn.Linear(d_in, d_out * 3, bias=False)
        self.proj = nn.Linear(d_out, d_out)

    def bias(self, x, keep):
        t = x.size(1)
        bias = torch.full((t, t), float("-inf"), dtype=x.dtype, device=x.device).triu(diagonal=1)
        if keep is None:
            return bias
        padding = torch.zeros(keep.shape, dtype=x.dtype, device=x.device).masked_fill(~keep, float("-inf"))
        return bias + padding[:, None, None]

    def forward(self, x, keep=None):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).transpose(1, 3).unbind(2)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias(x, keep))
        return self.proj(out.transpose(1, 2).flatten(-2))
