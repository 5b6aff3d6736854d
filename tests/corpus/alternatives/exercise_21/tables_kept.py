"""Cosines and sines are computed by a small module and handed to a function."""

import math

import torch
from torch import nn
import torch.nn.functional as F


def angles(moves, d, base, like):
    rate = torch.exp(torch.arange(0, d, 2, device=like.device, dtype=like.dtype) * (-math.log(base) / d))
    angle = torch.arange(moves, device=like.device, dtype=like.dtype).view(-1, 1) * rate
    return angle.cos().repeat(1, 2), angle.sin().repeat(1, 2)


def rotary(z, base):
    cos, sin = angles(z.shape[-2], z.shape[-1], base, z)
    swapped = torch.roll(z, z.shape[-1] // 2, dims=-1)
    sign = torch.ones_like(sin)
    sign[:, : z.shape[-1] // 2] = -1
    return z * cos + swapped * sin * sign


class MoveAttention(nn.Module):
    def __init__(self, d_model, n_heads, base):
        super().__init__()
        self.n_heads = n_heads
        self.base = base
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model)

    def split(self, z):
        return torch.stack(z.chunk(self.n_heads, dim=-1), dim=1)

    def forward(self, moves):
        q, k, v = map(self.split, (self.w_q(moves), self.w_k(moves), self.w_v(moves)))
        weights = F.softmax(torch.matmul(rotary(q, self.base), rotary(k, self.base).mT) / math.sqrt(q.size(-1)), dim=-1)
        return self.w_o(torch.cat(torch.matmul(weights, v).unbind(1), dim=-1))
