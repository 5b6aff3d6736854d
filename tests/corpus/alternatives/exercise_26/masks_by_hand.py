"""Drawn and divided by hand."""

import torch
from torch import nn


def drop(values, chance):
    if chance == 0:
        return values
    if chance == 1:
        return torch.zeros_like(values)
    keep = torch.rand_like(values) >= chance
    return torch.where(keep, values / (1 - chance), torch.zeros_like(values))


class Bottleneck(nn.Module):
    def __init__(self, width, hidden, inner=0.1, outer=0.1):
        super().__init__()
        self.inner = inner
        self.outer = outer
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        inner, outer = (self.inner, self.outer) if self.training else (0, 0)
        h = drop(self.up(x).clamp(min=0), inner)
        return x + drop(self.down(h), outer)
