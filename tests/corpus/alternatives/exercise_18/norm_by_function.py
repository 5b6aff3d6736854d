"""The norm as a function, the two halves of to_kv used apart."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CrossAttentionBlock(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.norm = nn.LayerNorm(d_model)
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, memory, memory_mask=None):
        residual = x
        d = x.shape[-1]
        asked = F.layer_norm(x, (d,), self.norm.weight, self.norm.bias, self.norm.eps)
        q = self.to_q(asked).view(*x.shape[:2], self.n_heads, -1).movedim(2, 1)
        k = F.linear(memory, self.to_kv.weight[:d]).view(*memory.shape[:2], self.n_heads, -1).movedim(2, 1)
        v = F.linear(memory, self.to_kv.weight[d:]).view(*memory.shape[:2], self.n_heads, -1).movedim(2, 1)
        scores = torch.matmul(q, k.mT).div(q.shape[-1] ** 0.5)
        if memory_mask is not None:
            scores = scores.masked_fill(memory_mask.view(len(x), 1, 1, -1) == False, float("-inf"))
        out = torch.matmul(torch.softmax(scores, -1), v).movedim(1, 2).reshape(x.shape)
        return residual + self.to_out(out)
