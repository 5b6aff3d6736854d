"""A dropout is built in each call, and put into the mode of the layer."""

import torch
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, width, hidden, inner=0.1, outer=0.1):
        super().__init__()
        self.inner, self.outer = float(inner), float(outer)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        h = nn.Dropout(self.inner).train(self.training)(torch.relu(self.up(x)))
        y = nn.functional.linear(h, self.down.weight, self.down.bias)
        return nn.Dropout(self.outer).train(self.training)(y) + x
