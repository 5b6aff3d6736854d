import copy

import torch
from torch import nn


class CalmNetwork(nn.Module):
    """A network that learns, and a twin that follows it slowly and answers for it."""

    def __init__(self, width, hidden, decay):
        super().__init__()
        self.decay = decay
        self.online = nn.Sequential(
            nn.Linear(width, hidden),
            nn.BatchNorm1d(hidden, momentum=0.99),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )
        self.twin = copy.deepcopy(self.online)
        self.twin.requires_grad_(False)

    def forward(self, x):
        return self.online(x) if self.training else self.twin(x)

    @torch.no_grad()
    def follow(self):
        for mine, theirs in zip(self.twin.parameters(), self.online.parameters()):
            mine.lerp_(theirs, 1 - self.decay)
