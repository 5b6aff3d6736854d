"""The length of a vector by linalg, in float64."""

import torch
from torch import nn


class AddNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.register_parameter("weight", nn.Parameter(torch.ones(width)))
        self.eps = eps

    def forward(self, x, residual):
        stream = x + residual
        size = torch.linalg.vector_norm(stream, dim=-1, keepdim=True, dtype=torch.float64)
        root = (size.pow(2) / stream.shape[-1] + self.eps).sqrt()
        return ((stream.double() / root) * self.weight.double()).to(stream.dtype), stream
