"""Something is added after all: zeros and minus infinities."""

import torch
import torch.nn as nn


class TemporalAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, series, observed=None):
        steps, batch, width = series.shape
        q, k, v = (part.unflatten(-1, (self.heads, -1)) for part in self.in_proj(series).chunk(3, dim=-1))
        scores = torch.einsum("tbhd,sbhd->bhts", q, k) / (width // self.heads) ** 0.5
        scores = scores + torch.full_like(scores[0, 0], -torch.inf).triu(1)
        if observed is not None:
            silence = torch.zeros_like(observed, dtype=scores.dtype).masked_fill(~observed, -torch.inf)
            scores = scores + silence.t()[:, None, None]
        found = torch.einsum("bhts,sbhd->tbhd", torch.softmax(scores, -1), v)
        return self.out_proj(found.reshape(steps, batch, width))
