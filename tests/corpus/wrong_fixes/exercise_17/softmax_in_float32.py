"""A softmax that is always one of float32."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, scale_scores: bool = True, backend: str = "eager"):
        super().__init__()
        self.n_heads = n_heads
        self.backend = backend
        self.scale = (n_heads / d_model) ** 0.5 if scale_scores else 1.0
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, resid):
        # [batch, pos, 3 * d_model] -> three of [batch, head, pos, d_head]
        q, k, v = self.qkv(resid).unflatten(-1, (3, self.n_heads, -1)).permute(2, 0, 3, 1, 4)
        z = self.fused(q, k, v) if self.backend == "fused" else self.eager(q, k, v)
        return self.out(z.transpose(1, 2).flatten(2))

    def eager(self, q, k, v):
        scores = q @ k.transpose(2, 3) * self.scale
        pos = torch.arange(q.shape[2], device=q.device)
        scores = scores.masked_fill(pos > pos[:, None], -torch.inf)
        pattern = scores.softmax(dim=-1, dtype=torch.float32).to(v.dtype)
        return pattern @ v

    def fused(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=self.scale)
