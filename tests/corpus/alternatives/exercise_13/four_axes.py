"""Samples and heads keep an axis each, and the mask gets one in between."""

import torch
import torch.nn as nn


class BatchedAttention(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(features, 3 * features)
        self.merge = nn.Linear(features, features)

    def forward(self, x, allowed=None):
        b, w, f = x.shape
        q, k, v = self.qkv(x).view(b, w, 3, self.heads, f // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / (f // self.heads) ** 0.5
        if allowed is not None:
            scores = scores.masked_fill(~allowed[:, None], float("-inf"))
        return self.merge((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, w, f))
