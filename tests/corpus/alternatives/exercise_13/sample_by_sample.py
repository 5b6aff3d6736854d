"""A letter at a time, as Odile tested it."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class BatchedAttention(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(features, 3 * features)
        self.merge = nn.Linear(features, features)

    def letter(self, x, allowed):
        words, features = x.shape
        q, k, v = (p.reshape(words, self.heads, -1).transpose(0, 1) for p in self.qkv(x).chunk(3, dim=1))
        scores = q @ k.transpose(1, 2) / q.shape[2] ** 0.5
        if allowed is not None:
            scores = scores + torch.zeros_like(scores).masked_fill(~allowed, float("-inf"))
        return self.merge((F.softmax(scores, dim=-1) @ v).transpose(0, 1).reshape(words, features))

    def forward(self, x, allowed=None):
        masks = [None] * len(x) if allowed is None else allowed
        return torch.stack([self.letter(letter, mask) for letter, mask in zip(x, masks)])
