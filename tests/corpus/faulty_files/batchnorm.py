"""A projection head for contrastive learning."""

from torch import nn


class Projector(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.first = nn.Linear(width, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.last = nn.Linear(hidden, width)

    def forward(self, x):
        hidden = self.norm(self.first(x))
        return self.last(hidden)
