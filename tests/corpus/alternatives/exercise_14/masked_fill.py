"""A softmax written out, and masked_fill twice."""

import math

import torch
import torch.nn as nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, context_length):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.qkv = nn.Linear(d_in, 3 * d_out, bias=False)
        self.proj = nn.Linear(d_out, d_out)

    def forward(self, x, keep=None):
        batch, tokens, _ = x.shape
        q, k, v = (
            part.view(batch, tokens, self.num_heads, self.head_dim).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(2, 3) / math.sqrt(self.head_dim)
        future = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
        if keep is not None:
            scores = scores.masked_fill(keep.logical_not().view(batch, 1, 1, tokens), float("-inf"))
        return self.proj((torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(batch, tokens, -1))
