"""Evaluation and training go different ways."""

import torch
import torch.nn as nn


class Bottleneck(nn.Module):
    def __init__(self, width, hidden, inner=0.1, outer=0.1):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.drops = nn.ModuleList([nn.Dropout(inner), nn.Dropout(outer)])

    def forward(self, x):
        h = torch.relu(self.up(x))
        if not self.training:
            return x + self.down(h)
        h = self.drops[0](h)
        return x + self.drops[1](self.down(h))
