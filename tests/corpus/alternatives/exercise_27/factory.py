"""Both are made by one function, and the weights loaded from one into the other."""

import torch
import torch.nn as nn


def make(width, hidden):
    norm = nn.BatchNorm1d(hidden)
    norm.momentum = 1 / 100
    return nn.Sequential(nn.Linear(width, hidden), norm, nn.ReLU(), nn.Linear(hidden, 1))


class CalmNetwork(nn.Module):
    def __init__(self, width: int, hidden: int, decay: float):
        super().__init__()
        self.online, self.twin = make(width, hidden), make(width, hidden)
        self.twin.load_state_dict(self.online.state_dict())
        self.twin.requires_grad_(False)
        self.keep = decay

    def forward(self, x):
        network = self.online if self.training else self.twin
        return network(x)

    def follow(self):
        for slow, fast in zip(self.twin.parameters(), self.online.parameters()):
            slow.data = self.keep * slow.data + (1.0 - self.keep) * fast.data
        for slow, fast in zip(self.twin.buffers(), self.online.buffers()):
            slow.data = fast.data.clone()
