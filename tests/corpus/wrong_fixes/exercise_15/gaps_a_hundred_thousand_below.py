"""Both are mended, and a gap is only a hundred thousand below: a loud series looks at it.
expect: 
"""

import torch
from torch import nn


class TemporalAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, series, observed=None):
        steps = series.shape[0]
        q, k, v = self.in_proj(series).unflatten(-1, (3, self.heads, -1)).unbind(dim=2)  # T B H D

        scores = torch.einsum("tbhd,sbhd->bhts", q, k) / q.shape[-1] ** 0.5

        # one where an hour may look, zero where it may not
        past = torch.tril(torch.ones(steps, steps, device=series.device))
        scores = scores.masked_fill(past == 0, -torch.inf)
        # a gauge that did not report has nothing to say
        if observed is not None:
            scores = scores + (~observed.T[:, None, None, :]) * -1e5
        weights = scores.softmax(dim=-1)

        found = torch.einsum("bhts,sbhd->tbhd", weights, v)
        return self.out_proj(found.flatten(2))
