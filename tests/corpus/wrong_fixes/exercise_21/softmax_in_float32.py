"""Angles and the softmax are computed in float32, whatever the dtype of the layer."""

import torch
from torch import nn


def rotate_half(z):
    """(a, b) -> (-b, a), where a and b are the halves of the last axis."""
    a, b = z.chunk(2, dim=-1)
    return torch.cat([-b, a], dim=-1)


def rotary(z, base):
    moves, d = z.shape[-2:]
    place = torch.arange(moves, device=z.device)
    rate = 1.0 / base ** (torch.arange(0, d, 2, device=z.device).float() / d)
    angle = torch.outer(place, rate)  # T, D / 2
    angle = torch.cat([angle, angle], dim=-1)  # T, D
    return z * angle.cos().to(z.dtype) + rotate_half(z) * angle.sin().to(z.dtype)


class MoveAttention(nn.Module):
    def __init__(self, d_model, n_heads, base):
        super().__init__()
        self.n_heads = n_heads
        self.base = base
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, moves):
        # B, T, H, D
        q, k, v = (w(moves).unflatten(-1, (self.n_heads, -1)) for w in (self.w_q, self.w_k, self.w_v))
        q, k, v = (z.transpose(1, 2) for z in (q, k, v))
        q, k = rotary(q, self.base), rotary(k, self.base)

        scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        mixed = scores.softmax(dim=-1, dtype=torch.float32).to(v.dtype) @ v
        return self.w_o(mixed.transpose(1, 2).flatten(2))
