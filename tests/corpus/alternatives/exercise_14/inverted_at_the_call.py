"""The upper triangle stays, as what is hidden; the call gets its opposite."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, context_length):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_in, 3 * d_out, bias=False)
        self.proj = nn.Linear(d_out, d_out)
        hidden = torch.triu(torch.ones(context_length, context_length, dtype=torch.bool), diagonal=1)
        self.register_buffer("hidden", hidden, persistent=False)

    def forward(self, x, keep=None):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        hidden = self.hidden[:t, :t]
        if keep is not None:
            hidden = hidden | ~keep[:, None, None, :]
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=~hidden)
        return self.proj(context.transpose(1, 2).reshape(b, t, -1))
