"""Angles and the softmax are computed in float32, whatever the dtype of the layer."""

import torch
from torch import nn


def turn(z, base):
    """z: (batch, heads, words, d)"""
    words, d = z.shape[-2:]
    rate = base ** -(torch.arange(0, d, 2, device=z.device, dtype=torch.float32) / d)
    angle = torch.outer(torch.arange(words, device=z.device), rate)
    angle = angle.repeat_interleave(2, dim=-1)
    swapped = torch.stack([-z[..., 1::2], z[..., 0::2]], dim=-1).flatten(-2)
    return z * angle.cos().to(z.dtype) + swapped * angle.sin().to(z.dtype)


class TurnedAttention(nn.Module):
    def __init__(self, width, heads, base):
        super().__init__()
        self.heads = heads
        self.base = base
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(width, width, bias=False)
        self.to_v = nn.Linear(width, width, bias=False)
        self.to_out = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.to_q, self.to_k, self.to_v))
        q, k = turn(q, self.base), turn(k, self.base)

        scores = q @ k.mT / q.shape[-1] ** 0.5
        ones = torch.ones_like(scores[0, 0])
        scores = scores.masked_fill(torch.tril(ones) == 0, -torch.inf)
        return self.to_out((scores.softmax(dim=-1, dtype=torch.float32).to(v.dtype) @ v).transpose(1, 2).flatten(2))
