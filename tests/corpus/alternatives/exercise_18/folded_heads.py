"""Heads in the batch, products by bmm."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CrossAttentionBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm = nn.LayerNorm(d_model)
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def fold(self, t: torch.Tensor) -> torch.Tensor:
        b, n, d = t.shape
        return t.reshape(b, n, self.n_heads, d // self.n_heads).permute(0, 2, 1, 3).reshape(b * self.n_heads, n, -1)

    def forward(self, x, memory, memory_mask=None):
        b, n, d = x.shape
        keys, values = torch.split(self.to_kv(memory), d, dim=2)
        q, k, v = self.fold(self.to_q(self.norm(x))), self.fold(keys), self.fold(values)
        scores = torch.bmm(q, k.transpose(1, 2)) * q.size(2) ** -0.5
        if memory_mask is not None:
            hidden = (~memory_mask).repeat_interleave(self.n_heads, dim=0).unsqueeze(1)
            scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
        out = torch.bmm(F.softmax(scores, dim=2), v)
        out = out.reshape(b, self.n_heads, n, -1).permute(0, 2, 1, 3).reshape(b, n, d)
        return x + self.to_out(out)
