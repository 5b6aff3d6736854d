"""A pair is a complex number, and turning is a product."""

import torch
from torch import nn


class WindowAttention(nn.Module):
    def __init__(self, d_model, n_heads, base):
        super().__init__()
        self.n_heads = n_heads
        d = d_model // n_heads
        self.rates = [base ** (-2 * i / d) for i in range(d // 2)]
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def turn(self, z, places):
        precise = torch.float64
        rates = torch.tensor(self.rates, dtype=precise, device=z.device)
        angles = places.to(precise)[:, None, None] * rates
        a, b = z.to(precise).chunk(2, dim=-1)
        turned = torch.complex(a, b) * torch.polar(torch.ones_like(angles), angles)
        return torch.cat((turned.real, turned.imag), dim=-1).to(z.dtype)

    def forward(self, x, past, start=0):
        both = torch.cat([past, x], dim=1)
        q = self.to_q(x).unflatten(-1, (self.n_heads, -1))
        k, v = self.to_kv(both).unflatten(-1, (2, self.n_heads, -1)).unbind(2)
        places = torch.arange(both.shape[1], device=x.device) + start
        mine = places[past.shape[1]:]
        scores = torch.einsum("bihd,bjhd->bhij", self.turn(q, mine), self.turn(k, places)) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(places[None, :] > mine[:, None], float("-inf"))
        return self.to_out(torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v).flatten(2))
