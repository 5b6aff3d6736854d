import torch
import torch.nn as nn


class Bottleneck(nn.Module):
    """A wide layer between two narrow ones, and a way around it."""

    def __init__(self, width, hidden, inner=0.1, outer=0.1):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.drop_inner = nn.Dropout(inner)
        self.drop_outer = nn.Dropout(outer)

    def forward(self, x):
        h = torch.relu(self.up(x))
        h = nn.Dropout(self.drop_inner.p)(h)
        y = self.down(h)
        if not self.training:
            self.drop_outer.p = 0.0
        return x + self.drop_outer(y)
