"""Pairs as complex numbers, torch's own attention."""

import torch
import torch.nn.functional as F
from torch import nn


def rotary(z, base):
    precise = torch.promote_types(z.dtype, torch.float32)
    half = z.size(-1) // 2
    rate = base ** (-torch.arange(half, dtype=precise, device=z.device) / half)
    angle = torch.outer(torch.arange(z.size(-2), dtype=precise, device=z.device), rate)
    a, b = z.to(precise).chunk(2, -1)
    turned = torch.complex(a, b) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([turned.real, turned.imag], -1).to(z.dtype)


class MoveAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, base: float):
        super().__init__()
        self.n_heads = n_heads
        self.base = base
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model)

    def heads(self, z):
        return z.unflatten(-1, (self.n_heads, -1)).movedim(-2, 1)

    def forward(self, moves):
        q = rotary(self.heads(self.w_q(moves)), self.base)
        k = rotary(self.heads(self.w_k(moves)), self.base)
        z = F.scaled_dot_product_attention(q, k, self.heads(self.w_v(moves)))
        return self.w_o(z.movedim(1, -2).flatten(-2))
