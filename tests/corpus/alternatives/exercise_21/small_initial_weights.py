"""Each pair is turned by a matrix of two rows, and all weights begin small."""

import torch
from torch import nn


def rotations(moves, pairs, base, like):
    """(moves, pairs, 2, 2)"""
    rate = torch.pow(base, torch.arange(pairs, dtype=like.dtype, device=like.device) / -pairs)
    angle = torch.arange(moves, dtype=like.dtype, device=like.device).unsqueeze(1) * rate
    cos, sin = angle.cos(), angle.sin()
    return torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)


def rotary(z, base):
    moves, d = z.shape[-2:]
    turned = torch.einsum("mixy,...myi->...mxi", rotations(moves, d // 2, base, z), z.unflatten(-1, (2, d // 2)))
    return turned.flatten(-2)


class MoveAttention(nn.Module):
    def __init__(self, d_model, n_heads, base):
        super().__init__()
        self.size, self.n_heads, self.base = d_model // n_heads, n_heads, base
        for name in ("w_q", "w_k", "w_v", "w_o"):
            layer = nn.Linear(d_model, d_model, bias=name == "w_o")
            nn.init.trunc_normal_(layer.weight, std=0.02)
            self.register_module(name, layer)

    def forward(self, moves):
        q, k, v = (w(moves).unflatten(-1, (self.n_heads, self.size)) for w in (self.w_q, self.w_k, self.w_v))
        q, k = (rotary(z.movedim(2, 1), self.base) for z in (q, k))
        weights = torch.softmax(torch.einsum("ghmd,ghnd->ghmn", q, k) / self.size**0.5, dim=-1)
        return self.w_o(torch.einsum("ghmn,gnhd->gmhd", weights, v).flatten(2))
