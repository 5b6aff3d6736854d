"""A function of numbers alone, remembered by functools."""

from functools import lru_cache

import torch
import torch.nn as nn
import torch.nn.functional as F


@lru_cache(maxsize=64)
def angles(base, d, first, last):
    rates = torch.tensor([base ** (-2 * i / d) for i in range(d // 2)], dtype=torch.float64)
    return torch.arange(first, last, dtype=torch.float64).unsqueeze(1) * rates


class WindowAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, base: float) -> None:
        super().__init__()
        self.n_heads, self.base = n_heads, base
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def turn(self, z, first):
        at = angles(self.base, z.size(-1), first, first + z.size(-2)).to(z.device)
        pairs = z.unflatten(-1, (2, -1))
        cos, sin = at.cos().to(z.dtype), at.sin().to(z.dtype)
        a, b = pairs.unbind(-2)
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-2).flatten(-2)

    def forward(self, x, past, start=0):
        m, n = past.size(1), x.size(1)
        q, kv = self.to_q(x), self.to_kv(torch.cat([past, x], dim=1))
        q, k, v = (z.unflatten(2, (self.n_heads, -1)).movedim(2, 1) for z in (q, *kv.chunk(2, 2)))
        bias = torch.zeros(n, m + n, dtype=x.dtype, device=x.device).masked_fill(
            torch.ones(n, m + n, dtype=torch.bool, device=x.device).triu(m + 1), float("-inf")
        )
        z = F.scaled_dot_product_attention(self.turn(q, start + m), self.turn(k, start), v, attn_mask=bias)
        return self.to_out(z.movedim(1, 2).flatten(2))
