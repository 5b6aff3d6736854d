"""Attention whose queries and keys are turned by their positions."""

import torch
from torch import nn


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((b, a), dim=-1)


class RotaryAttention(nn.Module):
    def __init__(self, dim, heads, base=10000.0):
        super().__init__()
        self.heads = heads
        self.head_dim = dim // heads
        inv_freq = 1.0 / base ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim)
        self.register_buffer("inv_freq", inv_freq, persistent=False)
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, dim, bias=False)
        self.wv = nn.Linear(dim, dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def rotate(self, t, offset):
        positions = torch.arange(offset, offset + t.size(2), device=t.device)
        angles = positions[:, None] * self.inv_freq[None, :]
        angles = torch.cat((angles, angles), dim=-1)
        return t * angles.cos() + rotate_half(t) * angles.sin()

    def forward(self, x, offset=0):
        b, n, d = x.shape
        q, k, v = (w(x).view(b, n, self.heads, self.head_dim).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        q, k = self.rotate(q, offset), self.rotate(k, offset)
        att = (q @ k.transpose(-1, -2) / self.head_dim**0.5).softmax(dim=-1)
        return self.wo((att @ v).transpose(1, 2).reshape(b, n, d))
