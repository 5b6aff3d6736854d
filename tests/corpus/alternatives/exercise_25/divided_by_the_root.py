"""A division by a root, and a helper."""

import torch
from torch import nn


def length(v, eps):
    return ((v * v).sum(dim=-1, keepdim=True) / v.shape[-1] + eps).sqrt()


class AddNorm(nn.Module):
    def __init__(self, width: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x, residual):
        stream = torch.add(x, residual)
        long = stream if stream.dtype == torch.float64 else stream.float()
        normed = (long / length(long, self.eps)).type_as(x)
        return normed * self.weight, stream
