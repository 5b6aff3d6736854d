"""Neighbours are turned, after the halves were shuffled into each other, and shuffled back."""

import torch
from torch import nn


def rotary(z, base):
    moves, d = z.shape[-2:]
    pairs = z.unflatten(-1, (2, d // 2)).transpose(-1, -2)  # ..., moves, pair, 2
    exponent = torch.arange(d // 2, device=z.device, dtype=z.dtype) * 2 / d
    angle = torch.arange(moves, device=z.device, dtype=z.dtype).unsqueeze(1) / base ** exponent
    a, b = pairs.unbind(-1)
    turned = torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], dim=-1)
    return turned.transpose(-1, -2).flatten(-2)


class MoveAttention(nn.Module):
    def __init__(self, d_model, n_heads, base):
        super().__init__()
        self.shape = n_heads, d_model // n_heads
        self.base = base
        for name in ("w_q", "w_k", "w_v"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, moves):
        b, t, _ = moves.shape
        q, k, v = (w(moves).reshape(b, t, *self.shape).permute(0, 2, 1, 3).reshape(-1, t, self.shape[1])
                   for w in (self.w_q, self.w_k, self.w_v))
        weights = torch.bmm(rotary(q, self.base), rotary(k, self.base).transpose(1, 2)).div(self.shape[1] ** 0.5)
        out = torch.bmm(weights.softmax(dim=2), v).reshape(b, self.shape[0], t, -1)
        return self.w_o(out.permute(0, 2, 1, 3).flatten(2))
