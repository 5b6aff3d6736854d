"""torch's own operations on lists of tensors."""

import copy
from itertools import chain

import torch
from torch import nn


class CalmNetwork(nn.Module):
    def __init__(self, width, hidden, decay):
        super().__init__()
        self.rate = 1 - decay
        self.online = nn.Sequential(
            nn.Linear(width, hidden), nn.BatchNorm1d(hidden, momentum=1e-2), nn.ReLU(), nn.Linear(hidden, 1)
        )
        self.twin = copy.deepcopy(self.online)
        for tensor in chain(self.twin.parameters()):
            tensor.requires_grad_(False)

    def forward(self, x):
        return (self.online if self.training else self.twin).forward(x)

    @torch.no_grad()
    def follow(self):
        slow, fast = list(self.twin.parameters()), list(self.online.parameters())
        torch._foreach_lerp_(slow, fast, self.rate)
        for mine, theirs in zip(self.twin.buffers(), self.online.buffers()):
            mine.copy_(theirs)
