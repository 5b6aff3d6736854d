"""Functions that are told the mode."""

import torch.nn as nn
import torch.nn.functional as F


class Bottleneck(nn.Module):
    def __init__(self, width, hidden, inner=0.1, outer=0.1):
        super().__init__()
        self.inner, self.outer = inner, outer
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        h = F.dropout(F.relu(self.up(x)), p=self.inner, training=self.training)
        return x + F.dropout(self.down(h), p=self.outer, training=self.training)
