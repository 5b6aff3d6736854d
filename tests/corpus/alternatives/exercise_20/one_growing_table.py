"""One table from place 0 on, which grows when it has to; slices of it are taken."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class WindowAttention(nn.Module):
    def __init__(self, d_model, n_heads, base):
        super().__init__()
        self.heads = n_heads
        self.d = d_model // n_heads
        self.base = base
        self.table = torch.empty(0, self.d // 2, dtype=torch.float64)
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def rows(self, first, last, device):
        if last > len(self.table):
            rates = self.base ** (-torch.arange(0, self.d, 2, dtype=torch.float64) / self.d)
            self.table = torch.outer(torch.arange(2 * last, dtype=torch.float64), rates)
        return self.table[first:last].to(device)

    def forward(self, x, past, start=0):
        split = lambda z: z.unflatten(-1, (self.heads, self.d)).transpose(1, 2)
        q = split(self.to_q(x))
        k, v = (split(z) for z in self.to_kv(torch.cat([past, x], 1)).chunk(2, -1))
        middle, end = start + past.shape[1], start + past.shape[1] + x.shape[1]
        q = self.turn(q, self.rows(middle, end, x.device))
        k = self.turn(k, self.rows(start, end, x.device))
        seen = torch.ones(x.shape[1], k.shape[2], device=x.device).tril(past.shape[1]) == 1
        return self.to_out(F.scaled_dot_product_attention(q, k, v, attn_mask=seen).transpose(1, 2).flatten(2))

    @staticmethod
    def turn(z, angles):
        cos = torch.cat([angles.cos(), angles.cos()], -1).to(z.dtype)
        sin = torch.cat([angles.sin(), angles.sin()], -1).to(z.dtype)
        a, b = z.chunk(2, -1)
        return z * cos + torch.cat([-b, a], -1) * sin
