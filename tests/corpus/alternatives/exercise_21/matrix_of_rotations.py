"""A matrix for each place turns the vectors."""

import torch
from torch import nn


def rotary(z, base):
    moves, d = z.shape[-2:]
    half = d // 2
    matrices = []
    for p in range(moves):
        angle = torch.tensor([p * base ** (-2 * i / d) for i in range(half)], dtype=z.dtype, device=z.device)
        cos, sin = torch.diag(angle.cos()), torch.diag(angle.sin())
        matrices.append(torch.cat([torch.cat([cos, -sin], 1), torch.cat([sin, cos], 1)], 0))
    return torch.einsum("...td,ted->...te", z, torch.stack(matrices))


class MoveAttention(nn.Module):
    def __init__(self, d_model, n_heads, base):
        super().__init__()
        self.n_heads = n_heads
        self.base = base
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, moves):
        found = []
        for q, k, v in zip(*(w(moves).chunk(self.n_heads, dim=-1) for w in (self.w_q, self.w_k, self.w_v))):
            q, k = rotary(q, self.base), rotary(k, self.base)
            found.append(torch.softmax(q @ k.transpose(1, 2) * k.shape[2] ** -0.5, dim=2) @ v)
        return self.w_o(torch.cat(found, dim=-1))
