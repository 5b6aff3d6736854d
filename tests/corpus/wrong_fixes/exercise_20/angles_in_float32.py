"""Angles and the turning are of float32, whatever the dtype of the vectors."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def turn(z, angles):
    """Turns the pairs (i, i + d / 2). z: (batch, heads, words, d), angles: (words, d / 2)"""
    cos, sin = angles.cos(), angles.sin()
    a, b = z.float().chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).to(z.dtype)


class WindowAttention(nn.Module):
    def __init__(self, d_model, n_heads, base):
        super().__init__()
        self.n_heads = n_heads
        self.base = base
        self.known_angles = {}
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def split(self, z):
        return z.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def angles(self, z, first):
        """The angles for z, whose first word has place `first`."""
        words, d = z.shape[2:]
        precision = torch.float32
        key = words, first, z.device, z.dtype
        if key not in self.known_angles:
            places = torch.arange(first, first + words, device=z.device).to(precision)
            rates = self.base ** (torch.arange(0, d, 2, device=z.device).to(precision) / -d)
            self.known_angles[key] = torch.outer(places, rates)
        return self.known_angles[key]

    def forward(self, x, past, start=0):
        earlier, words = past.shape[1], x.shape[1]
        q = self.split(self.to_q(x))
        k, v = map(self.split, self.to_kv(torch.cat([past, x], dim=1)).chunk(2, dim=-1))

        q = turn(q, self.angles(q, start + earlier))
        k = turn(k, self.angles(k, start))

        visible = torch.ones(words, earlier + words, dtype=torch.bool, device=x.device).tril(earlier)
        z = F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
        return self.to_out(z.transpose(1, 2).flatten(2))
