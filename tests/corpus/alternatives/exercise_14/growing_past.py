"""Token by token over a past that grows."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, context_length):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_in, 3 * d_out, bias=False)
        self.proj = nn.Linear(d_out, d_out)

    def forward(self, x, keep=None):
        b, t, _ = x.shape
        q, k, v = (z.view(b, t, self.num_heads, -1).transpose(1, 2) for z in self.qkv(x).tensor_split(3, dim=2))
        steps = []
        for i in range(t):
            known = None if keep is None else keep[:, None, None, : i + 1]
            steps.append(F.scaled_dot_product_attention(q[:, :, i : i + 1], k[:, :, : i + 1], v[:, :, : i + 1], known))
        return self.proj(torch.cat(steps, dim=2).transpose(1, 2).flatten(2))
