"""Only distances count, so start is not used: the window begins at 0, and what came before has negative places."""

import math

import torch
import torch.nn as nn


class WindowAttention(nn.Module):
    def __init__(self, d_model, n_heads, base):
        super().__init__()
        self.n_heads = n_heads
        self.base = base
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def heads(self, z):
        b, n, w = z.shape
        return z.view(b, n, self.n_heads, w // self.n_heads).permute(0, 2, 1, 3)

    def turn(self, z, places):
        half = z.shape[-1] // 2
        exponents = torch.arange(half, device=z.device, dtype=torch.float64) / half
        angles = places.double().unsqueeze(1) * torch.exp(-exponents * math.log(self.base))
        cos, sin = torch.cos(angles).to(z.dtype), torch.sin(angles).to(z.dtype)
        return torch.cat([z[..., :half] * cos - z[..., half:] * sin, z[..., half:] * cos + z[..., :half] * sin], -1)

    def forward(self, x, past, start=0):
        here = torch.arange(x.shape[1], device=x.device)
        everywhere = torch.arange(-past.shape[1], x.shape[1], device=x.device)
        keys, values = self.to_kv(torch.cat([past, x], dim=1)).tensor_split(2, dim=2)
        q, k = self.turn(self.heads(self.to_q(x)), here), self.turn(self.heads(keys.contiguous()), everywhere)
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        scores = torch.where(everywhere <= here[:, None], scores, float("-inf"))
        out = torch.softmax(scores, -1) @ self.heads(values.contiguous())
        return self.to_out(out.permute(0, 2, 1, 3).flatten(2))
