"""The mask is left out where one patch of each sample is to be seen.
expect: broken
"""

import torch
from torch import nn


class CrossAttentionBlock(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.scale = (n_heads / d_model) ** 0.5
        self.norm = nn.LayerNorm(d_model)
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def heads(self, t):
        """(batch, length, d_model) -> (batch, heads, length, d)"""
        return t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(self, x, memory, memory_mask=None):
        batch, length, _ = x.shape
        h = self.norm(x)

        q = self.heads(self.to_q(h))
        k, v = map(self.heads, self.to_kv(memory).chunk(2, dim=-1))

        scores = q @ k.transpose(-2, -1) * self.scale
        if memory_mask is not None and memory_mask.sum() > batch:
            hidden = memory_mask.logical_not()
            scores = scores.masked_fill(hidden[:, None, None, :], -torch.inf)
        found = scores.softmax(dim=-1) @ v

        found = found.transpose(1, 2).flatten(2)
        return x + self.to_out(found)
