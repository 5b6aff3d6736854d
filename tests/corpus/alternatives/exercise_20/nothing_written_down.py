"""The angles are computed in each call, in float32 or better."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class WindowAttention(nn.Module):
    def __init__(self, d_model, n_heads, base):
        super().__init__()
        self.n_heads, self.base = n_heads, base
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def turned(self, z, first):
        precise = torch.promote_types(z.dtype, torch.float32)
        words, d = z.size(2), z.size(3)
        rates = self.base ** (-torch.arange(0, d, 2, dtype=precise, device=z.device) / d)
        places = torch.arange(first, first + words, dtype=precise, device=z.device)
        angles = places[:, None] * rates
        a, b = z.to(precise).chunk(2, dim=-1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(z.dtype)

    def forward(self, x, past, start=0):
        split = lambda z: z.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        k, v = self.to_kv(torch.cat((past, x), 1)).chunk(2, -1)
        q, k, v = split(self.to_q(x)), split(k), split(v)
        m = past.size(1)
        q, k = self.turned(q, start + m), self.turned(k, start)
        mask = torch.ones(q.size(2), k.size(2), dtype=torch.bool, device=x.device).tril(m)
        return self.to_out(F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2))
