"""Einstein sums and a bias that is added."""

import torch
from torch import einsum, nn


class BackwardLook(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width)

    def forward(self, x, real):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).unbind(2)
        scores = einsum("bihd,bjhd->bhij", q, k) / q.shape[-1] ** 0.5
        place = torch.arange(x.shape[1], device=x.device)
        shown = (place[:, None] >= place) & real[:, None, :]
        bias = torch.zeros(shown.shape, dtype=x.dtype, device=x.device).masked_fill(~shown, float("-inf"))
        weights = (scores + bias.unsqueeze(1)).softmax(dim=-1)
        return self.proj(einsum("bhij,bjhd->bihd", weights, v).flatten(2))
