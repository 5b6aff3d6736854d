"""Each word gathers by itself."""

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

    def gather(self, query, k, v, memory_mask):
        scores = (query.unsqueeze(1) * k).sum(-1) * query.shape[-1] ** -0.5  # (batch, patches, heads)
        if memory_mask is not None:
            scores = scores.masked_fill(memory_mask[:, :, None].logical_not(), float("-inf"))
        return (scores.softmax(dim=1)[..., None] * v).sum(dim=1).flatten(1)

    def forward(self, x, memory, memory_mask=None):
        q = self.to_q(self.norm(x)).unflatten(-1, (self.n_heads, -1))
        k, v = (t.unflatten(-1, (self.n_heads, -1)) for t in self.to_kv(memory).tensor_split(2, dim=-1))
        words = [self.gather(query, k, v, memory_mask) for query in q.unbind(1)]
        return self.to_out(torch.stack(words, 1)) + x
