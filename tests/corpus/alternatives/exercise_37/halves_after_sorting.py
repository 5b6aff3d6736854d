"""The features are sorted into halves first; queries and keys alike, so no product notices."""

import torch
from torch import nn


def turn(z, base):
    z = torch.cat([z[..., 0::2], z[..., 1::2]], dim=-1)
    words, d = z.shape[-2:]
    rate = base ** (-torch.arange(0, d, 2, device=z.device, dtype=z.dtype) / d)
    angle = torch.arange(words, device=z.device, dtype=z.dtype).unsqueeze(1) * rate
    angle = torch.cat([angle, angle], dim=-1)
    a, b = z.chunk(2, dim=-1)
    return z * angle.cos() + torch.cat([-b, a], dim=-1) * angle.sin()


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
        scores = torch.einsum("bhid,bhjd->bhij", turn(q, self.base), turn(k, self.base)) / q.size(-1) ** 0.5
        scores = scores + torch.full_like(scores[0, 0], float("-inf")).triu(1)
        return self.to_out(torch.einsum("bhij,bhjd->bihd", scores.softmax(-1), v).flatten(2))
