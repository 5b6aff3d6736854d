"""Exponentials, hidden ones zeroed, and a sum that is never zero."""

import torch
from torch import nn


class PageAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.size = width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width)

    def forward(self, cards, real):
        q, k, v = (f(cards).unflatten(-1, (-1, self.size)) for f in (self.query, self.key, self.value))
        scores = torch.einsum("pihd,pjhd->phij", q, k) * self.size ** -0.5
        seen = real[:, None, None, :]
        top = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).amax(-1, keepdim=True).detach()
        powers = torch.where(seen, scores - top, 0.0).exp() * seen
        weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
        return self.output(torch.einsum("phij,pjhd->pihd", weights, v).flatten(2))
