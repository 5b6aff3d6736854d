"""Each hour is given the hours it may see."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class TemporalAttention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.size = width // heads
        self.in_proj = nn.Linear(width, width * 3)
        self.out_proj = nn.Linear(width, width)

    def forward(self, series, observed=None):
        q, k, v = (z.unflatten(2, (-1, self.size)) for z in self.in_proj(series).tensor_split(3, dim=2))
        hours = []
        for t in range(len(series)):
            scores = (q[t] * k[: t + 1]).sum(-1) * self.size ** -0.5  # (seen, batch, heads)
            if observed is not None:
                scores = torch.where(observed[: t + 1, :, None], scores, torch.finfo(scores.dtype).min)
            hours.append((F.softmax(scores, dim=0).unsqueeze(-1) * v[: t + 1]).sum(0).flatten(1))
        return self.out_proj(torch.stack(hours))
