"""Layer beside layer; the norm's statistics are kept in step by hand."""

import copy

import torch
from torch import nn


class CalmNetwork(nn.Module):
    def __init__(self, width, hidden, decay):
        super().__init__()
        self.decay = decay
        self.online = nn.Sequential(
            nn.Linear(width, hidden), nn.BatchNorm1d(num_features=hidden, momentum=0.01), nn.ReLU(), nn.Linear(hidden, 1)
        )
        self.twin = copy.deepcopy(self.online)
        self.twin.requires_grad_(False)

    def forward(self, x):
        return self.online(x) if self.training else self.twin(x)

    def follow(self):
        with torch.no_grad():
            for slow, fast in zip(self.twin, self.online):
                for name, tensor in fast.named_parameters(recurse=False):
                    getattr(slow, name).lerp_(tensor, 1.0 - self.decay)
                if isinstance(fast, nn.BatchNorm1d):
                    slow.running_mean.copy_(fast.running_mean)
                    slow.running_var.copy_(fast.running_var)
                    slow.num_batches_tracked.copy_(fast.num_batches_tracked)
