"""Each query head asks for its keys by number."""

import math

import torch
import torch.nn as nn


class GroupedAttention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads, window):
        super().__init__()
        self.n_heads = n_heads
        self.times = n_heads // n_kv_heads
        self.window = window
        d = dim // n_heads
        self.wq = nn.Linear(dim, n_heads * d, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * d, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * d, bias=False)
        self.wo = nn.Linear(n_heads * d, dim, bias=False)

    def forward(self, x):
        d = self.wq.out_features // self.n_heads
        qs, ks, vs = (w(x).split(d, dim=-1) for w in (self.wq, self.wk, self.wv))
        words = x.size(1)
        bias = torch.zeros(words, words, dtype=x.dtype, device=x.device)
        for i in range(words):
            bias[i, i + 1 :] = -math.inf
            bias[i, : max(0, i - self.window + 1)] = -math.inf
        out = []
        for h, q in enumerate(qs):
            k, v = ks[h // self.times], vs[h // self.times]
            out.append(torch.softmax(q @ k.transpose(1, 2) / math.sqrt(d) + bias, dim=-1) @ v)
        return self.wo(torch.cat(out, dim=-1))
