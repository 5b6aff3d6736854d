"""Both reasons for hiding a word in one mask, the opposite of being shown."""

import math

import torch
from torch import nn


class BackwardLook(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width)

    def forward(self, x, real):
        batch, words, _ = x.shape
        q, k, v = (z.view(batch, words, self.heads, self.size).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        future = torch.ones(words, words, dtype=torch.bool, device=x.device).triu(1)
        hidden = future | real.logical_not()[:, None, None, :]
        weights = torch.softmax((q @ k.transpose(2, 3) / math.sqrt(self.size)).masked_fill(hidden, -math.inf), dim=-1)
        return self.proj((weights @ v).transpose(1, 2).flatten(2))
