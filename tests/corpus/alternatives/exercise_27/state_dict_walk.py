"""Over the state dicts: floats that are parameters follow, everything else is copied."""

import copy

import torch
from torch import nn


class CalmNetwork(nn.Module):
    def __init__(self, width, hidden, decay):
        super().__init__()
        self.decay = decay
        self.online = nn.Sequential(
            nn.Linear(width, hidden), nn.BatchNorm1d(hidden, momentum=0.01), nn.ReLU(), nn.Linear(hidden, 1)
        )
        self.twin = copy.deepcopy(self.online)
        for parameter in self.twin.parameters():
            parameter.requires_grad = False

    def forward(self, x):
        if self.training:
            return self.online(x)
        return self.twin(x)

    def follow(self):
        learned = {name for name, _ in self.online.named_parameters()}
        theirs = self.online.state_dict()
        with torch.no_grad():
            for name, tensor in self.twin.state_dict().items():
                if name in learned:
                    tensor.mul_(self.decay).add_(theirs[name], alpha=1 - self.decay)
                else:
                    tensor.copy_(theirs[name])
