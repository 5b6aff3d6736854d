"""Head after head; an additive mask."""

import math

import torch
import torch.nn as nn


class CrossAttentionBlock(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.norm = nn.LayerNorm(d_model)
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, memory, memory_mask=None):
        queries = self.to_q(self.norm(x)).chunk(self.n_heads, dim=-1)
        pieces = self.to_kv(memory).chunk(2 * self.n_heads, dim=-1)
        keys, values = pieces[: self.n_heads], pieces[self.n_heads :]
        bias = memory.new_zeros(memory.shape[0], 1, memory.shape[1])
        if memory_mask is not None:
            bias = bias.masked_fill(~memory_mask.unsqueeze(1), -math.inf)
        found = []
        for q, k, v in zip(queries, keys, values):
            found.append(torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.size(-1)) + bias, dim=-1) @ v)
        return x + self.to_out(torch.cat(found, dim=-1))
