"""Head after head with its slope."""

import math

import torch
import torch.nn as nn


def slopes(heads):
    m = 2 ** int(math.log2(heads))
    first = [2.0 ** (-8.0 * i / m) for i in range(1, m + 1)]
    second = [2.0 ** (-8.0 * i / (2 * m)) for i in range(1, 2 * m + 1, 2)]
    return (first + second)[:heads]


class NearAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.merge = nn.Linear(width, width)

    def forward(self, x, memory=None):
        everything = x if memory is None else torch.cat((memory, x), 1)
        n, total = x.size(1), everything.size(1)
        back = torch.arange(total - n, total, device=x.device).unsqueeze(1) - torch.arange(total, device=x.device)
        found = []
        parts = zip(*(z.chunk(self.heads, -1) for z in (self.query(x), self.key(everything), self.value(everything))))
        for slope, (q, k, v) in zip(slopes(self.heads), parts):
            scores = q @ k.transpose(1, 2) / math.sqrt(q.size(-1)) - slope * back.to(q.dtype)
            scores = torch.where(back >= 0, scores, torch.finfo(scores.dtype).min)
            found.append(scores.softmax(-1) @ v)
        return self.merge(torch.cat(found, -1))
