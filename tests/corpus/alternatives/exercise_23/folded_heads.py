"""Heads folded into the batch, biases made by a method."""

import math

import torch
import torch.nn as nn


def slopes(heads: int) -> list:
    m = 2 ** math.floor(math.log2(heads))
    table = {1: [2.0 ** (-8 * (i + 1) / m) for i in range(m)], 2: [2.0 ** (-4 * (i + 1) / m) for i in range(2 * m)]}
    return table[1] + [table[2][2 * i] for i in range(heads - m)]


class NearAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.merge = nn.Linear(width, width)

    def bias(self, scores, earlier):
        heads_, words, known = self.heads, *scores.shape[1:]
        ahead = torch.arange(known, device=scores.device) - earlier
        distance = torch.arange(words, device=scores.device).unsqueeze(-1) - ahead
        slope = scores.new_tensor(slopes(heads_)).reshape(-1, 1, 1)
        bias = -(slope * distance.clamp(min=0))
        return bias.masked_fill((distance < 0).unsqueeze(0), -math.inf)

    def forward(self, x, memory=None):
        earlier = 0 if memory is None else memory.shape[1]
        seen = x if earlier == 0 else torch.cat([memory, x], dim=1)
        fold = lambda z: z.unflatten(2, (self.heads, -1)).permute(0, 2, 1, 3).flatten(0, 1)
        q, k, v = fold(self.query(x)), fold(self.key(seen)), fold(self.value(seen))
        scores = torch.bmm(q, k.mT) * q.size(-1) ** -0.5
        scores = scores + self.bias(scores, earlier).repeat(x.shape[0], 1, 1)
        out = torch.bmm(torch.softmax(scores, dim=2), v)
        return self.merge(out.unflatten(0, (-1, self.heads)).permute(0, 2, 1, 3).flatten(2))
