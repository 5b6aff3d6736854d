"""A list of steps that knows its mode; the layers keep their names."""

import torch
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, width: int, hidden: int, inner: float = 0.1, outer: float = 0.1) -> None:
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.act = nn.ReLU()
        self.dropout_inner = nn.Dropout(p=inner)
        self.dropout_outer = nn.Dropout(p=outer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for step in (self.up, self.act, self.dropout_inner, self.down, self.dropout_outer):
            y = step(y)
        return y + x
