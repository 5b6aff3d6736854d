"""Head after head, batch first inside; hidden scores become the lowest number there is."""

import torch
from torch import nn


class TemporalAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)

    def visible(self, series, observed):
        steps, batch, _ = series.shape
        grid = torch.ones(batch, steps, steps, device=series.device).tril().bool()
        return grid if observed is None else grid & observed.transpose(0, 1).unsqueeze(1)

    def forward(self, series, observed=None):
        visible = self.visible(series, observed)
        q, k, v = self.in_proj(series).transpose(0, 1).chunk(3, dim=2)
        results = []
        for qh, kh, vh in zip(q.chunk(self.heads, 2), k.chunk(self.heads, 2), v.chunk(self.heads, 2)):
            scores = qh @ kh.mT / kh.shape[2] ** 0.5
            weights = torch.where(visible, scores, torch.full_like(scores, torch.finfo(scores.dtype).min)).softmax(2)
            results.append(weights @ vh)
        return self.out_proj(torch.cat(results, dim=2)).transpose(0, 1)
