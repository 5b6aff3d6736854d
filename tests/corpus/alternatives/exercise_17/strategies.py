"""A dictionary of functions, one for each backend."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def eager(q, k, v, scale):
    length = q.size(-2)
    allowed = torch.tril(torch.ones(length, length, dtype=torch.bool, device=q.device))
    scores = torch.where(allowed, torch.matmul(q, k.transpose(-1, -2)) * scale, -math.inf)
    return torch.matmul(torch.softmax(scores, dim=-1), v)


def fused(q, k, v, scale):
    factor = scale * math.sqrt(q.size(-1))
    return F.scaled_dot_product_attention(q * factor, k, v, is_causal=True)


BACKENDS = {"eager": eager, "fused": fused}


class Attention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, scale_scores: bool = True, backend: str = "eager") -> None:
        super().__init__()
        self.n_heads = n_heads
        self.attend = BACKENDS[backend]
        self.scale_scores = scale_scores
        self.qkv = nn.Linear(d_model, d_model * 3, bias=False)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, resid: torch.Tensor) -> torch.Tensor:
        b, t, d = resid.shape
        q, k, v = self.qkv(resid).view(b, t, 3, self.n_heads, d // self.n_heads).permute(2, 0, 3, 1, 4)
        z = self.attend(q, k, v, q.size(-1) ** -0.5 if self.scale_scores else 1.0)
        return self.out(z.transpose(1, 2).reshape(b, t, d))
