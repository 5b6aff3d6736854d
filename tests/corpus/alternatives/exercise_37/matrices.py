"""A matrix for each place."""

import torch
from torch import nn


class TurnedAttention(nn.Module):
    def __init__(self, width, heads, base):
        super().__init__()
        self.heads = heads
        self.base = base
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(width, width, bias=False)
        self.to_v = nn.Linear(width, width, bias=False)
        self.to_out = nn.Linear(width, width)

    def matrices(self, words, d, like):
        every = []
        for p in range(words):
            blocks = []
            for i in range(d // 2):
                angle = torch.tensor(p * self.base ** (-2 * i / d), dtype=like.dtype, device=like.device)
                cos, sin = angle.cos(), angle.sin()
                blocks.append(torch.stack([torch.stack([cos, sin]), torch.stack([-sin, cos])]))
            every.append(torch.block_diag(*blocks))
        return torch.stack(every)

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.to_q, self.to_k, self.to_v))
        turns = self.matrices(x.shape[1], q.shape[-1], x)
        q, k = (torch.einsum("bthd,tde->bthe", z, turns) for z in (q, k))
        scores = torch.einsum("bihd,bjhd->bhij", q, k) * q.shape[-1] ** -0.5
        place = torch.arange(x.shape[1], device=x.device)
        scores = torch.where(place[:, None] >= place, scores, torch.finfo(scores.dtype).min)
        return self.to_out(torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v).flatten(2))
