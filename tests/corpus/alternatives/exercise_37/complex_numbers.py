"""A pair of neighbours is a complex number as it lies."""

import torch
from torch import nn
import torch.nn.functional as F


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
        d = q.size(-1)
        rate = self.base ** (-torch.arange(0, d, 2, dtype=x.dtype, device=x.device) / d)
        angle = torch.outer(torch.arange(x.size(1), dtype=x.dtype, device=x.device), rate)
        unit = torch.polar(torch.ones_like(angle), angle)

        def turned(z):
            pairs = torch.view_as_complex(z.unflatten(-1, (-1, 2)).contiguous())
            return torch.view_as_real(pairs * unit).flatten(-2)

        out = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
        return self.to_out(out.transpose(1, 2).flatten(2))
