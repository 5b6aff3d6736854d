"""An extra key with value zero is there for pages that have nothing else."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class PageAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width)

    def forward(self, cards, real):
        split = lambda z: torch.stack(z.chunk(self.heads, dim=-1), dim=1)
        q, k, v = split(self.query(cards)), split(self.key(cards)), split(self.value(cards))
        k, v = (F.pad(z, (0, 0, 0, 1)) for z in (k, v))
        seen = torch.cat([real, ~real.any(1, keepdim=True)], dim=1)[:, None, None, :]
        scores = torch.einsum("phid,phjd->phij", q, k) / q.shape[-1] ** 0.5
        weights = scores.masked_fill(~seen, float("-inf")).softmax(dim=-1)
        return self.output(torch.cat((weights @ v).unbind(1), dim=-1))
