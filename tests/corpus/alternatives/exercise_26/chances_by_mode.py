"""The chance depends on the mode, the functions are always on."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Bottleneck(nn.Module):
    def __init__(self, width, hidden, inner=0.1, outer=0.1):
        super().__init__()
        self.chances = {"inner": inner, "outer": outer}
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def dropped(self, values, which):
        chance = self.chances[which] if self.training else 0.0
        return F.dropout(values, chance, training=True) if chance else values

    def forward(self, x):
        hidden = self.dropped(self.up(x).relu(), "inner")
        return torch.add(x, self.dropped(self.down(hidden), "outer"))
