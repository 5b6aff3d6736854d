"""The heads stay where they are; moves are brought in front of them for a moment only."""

import torch
from torch import einsum, nn


def rotary(z, base):
    moves, d = z.shape[-2:]
    place = torch.arange(moves, device=z.device, dtype=z.dtype)
    rate = base ** -(torch.arange(0, d, 2, device=z.device, dtype=z.dtype) / d)
    angle = torch.outer(place, rate).tile(2)
    left, right = z.tensor_split(2, dim=-1)
    return z * angle.cos() + torch.cat([right.neg(), left], dim=-1) * angle.sin()


class MoveAttention(nn.Module):
    def __init__(self, d_model, n_heads, base):
        super().__init__()
        self.n_heads, self.base = n_heads, base
        self.w_q, self.w_k, self.w_v = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))
        self.w_o = nn.Linear(d_model, d_model)

    def along_moves(self, z):
        return rotary(z.swapaxes(1, 2), self.base).swapaxes(1, 2)

    def forward(self, moves):
        q, k, v = (w(moves).unflatten(-1, (self.n_heads, -1)) for w in (self.w_q, self.w_k, self.w_v))
        scores = einsum("bihd,bjhd->bhij", self.along_moves(q), self.along_moves(k)) / q.shape[-1] ** 0.5
        return self.w_o(einsum("bhij,bjhd->bihd", scores.softmax(-1), v).flatten(2))
