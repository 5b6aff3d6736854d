"""torch's own attention."""

import torch.nn.functional as F
from torch import nn


class CrossAttentionBlock(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.norm = nn.LayerNorm(d_model)
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, memory, memory_mask=None):
        split = lambda t: t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        k, v = self.to_kv(memory).chunk(2, dim=-1)
        mask = None if memory_mask is None else memory_mask[:, None, None, :]
        out = F.scaled_dot_product_attention(split(self.to_q(self.norm(x))), split(k), split(v), attn_mask=mask)
        return x + self.to_out(out.transpose(1, 2).flatten(2))
