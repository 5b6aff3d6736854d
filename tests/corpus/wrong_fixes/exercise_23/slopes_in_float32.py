"""Slopes are a tensor of the default dtype, and the softmax is computed in float32."""

import torch
import torch.nn as nn


def slopes(heads):
    """What each head takes off a score for a word of distance."""
    m = 1
    while 2 * m <= heads:
        m = 2 * m
    between = [2.0 ** (-4.0 * (h + 1) / m) for h in range(0, 2 * (heads - m), 2)]
    return [2.0 ** (-8.0 * (h + 1) / m) for h in range(m)] + between


class NearAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.merge = nn.Linear(width, width)

    def forward(self, x, memory=None):
        seen = x if memory is None else torch.cat([memory, x], dim=1)
        words, known = x.shape[1], seen.shape[1]

        # (batch, heads, words, size of a head)
        q, k, v = (
            layer(z).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer, z in ((self.query, x), (self.key, seen), (self.value, seen))
        )
        scores = q @ k.mT * q.shape[-1] ** -0.5

        # (words, known)
        row = torch.arange(known - words, known, device=x.device)[:, None]
        column = torch.arange(known, device=x.device)[None, :]
        distance = (row - column).abs()
        slope = torch.tensor(slopes(self.heads), device=x.device)
        scores = scores - slope[:, None, None] * distance

        future = torch.ones(words, known, dtype=torch.bool, device=x.device).triu(known - words + 1)
        weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1, dtype=torch.float32).to(v.dtype)
        return self.merge((weights @ v).transpose(1, 2).flatten(2))
