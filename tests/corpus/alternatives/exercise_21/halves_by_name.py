"""The halves are turned each by name."""

import torch
from torch import nn


def rotary(z, base):
    moves, d = z.shape[-2], z.shape[-1]
    rate = base ** (-torch.arange(0, d, 2, device=z.device, dtype=z.dtype) / d)
    angle = torch.arange(moves, device=z.device, dtype=z.dtype)[:, None] * rate[None, :]
    cos, sin = angle.cos(), angle.sin()
    a, b = z[..., : d // 2], z[..., d // 2 :]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class MoveAttention(nn.Module):
    def __init__(self, d_model, n_heads, base):
        super().__init__()
        self.n_heads, self.base = n_heads, base
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, moves):
        b, t, e = moves.shape
        q, k, v = (w(moves).view(b, t, self.n_heads, -1).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        q, k = rotary(q, self.base), rotary(k, self.base)
        weights = torch.softmax(q @ k.mT / q.size(-1) ** 0.5, dim=-1)
        return self.w_o((weights @ v).transpose(1, 2).reshape(b, t, e))
