"""The squares are summed by an Einstein sum."""

import torch
from torch import nn


class AddNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.width, self.eps = width, eps
        self.weight = nn.Parameter(torch.ones(width))

    @torch.inference_mode()
    def forward(self, x, residual):
        stream = x.clone()
        stream += residual
        long = stream.to(torch.promote_types(x.dtype, torch.float32))
        square = torch.einsum("bti,bti->bt", long, long) / self.width
        factor = (square + self.eps) ** -0.5
        return self.weight * (long * factor[..., None]).to(x.dtype), stream
