"""Adds a layer's result to the stream and norms the sum, in one go."""

import torch
from torch import nn


class AddNorm(nn.Module):
    def __init__(self, width: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    @torch.no_grad()
    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        precision = torch.promote_types(x.dtype, torch.float32)
        stream = x + residual
        normed = stream.to(precision)
        mean_square = normed.pow(2).mean(dim=-1, keepdim=True)
        normed = normed * torch.rsqrt(mean_square + self.eps)
        return normed.to(x.dtype) * self.weight, stream
