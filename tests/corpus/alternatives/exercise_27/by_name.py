"""Tensors are looked up by name."""

import copy

import torch
from torch import nn


class CalmNetwork(nn.Module):
    def __init__(self, width, hidden, decay):
        super().__init__()
        self.decay = decay
        layers = [nn.Linear(width, hidden), nn.BatchNorm1d(hidden, momentum=0.01), nn.ReLU(), nn.Linear(hidden, 1)]
        self.online = nn.Sequential(*layers)
        self.twin = copy.deepcopy(self.online).requires_grad_(False)

    def forward(self, x):
        return {True: self.online, False: self.twin}[self.training](x)

    @torch.no_grad()
    def follow(self):
        for name, fast in self.online.named_parameters():
            slow = self.twin.get_parameter(name)
            slow += (1 - self.decay) * (fast - slow)
        for name, fast in self.online.named_buffers():
            self.twin.get_buffer(name).copy_(fast)
