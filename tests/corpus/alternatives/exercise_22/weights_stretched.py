"""The weights of the key heads are stretched, in place of what they make."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GroupedAttention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads, window):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.window, self.d = n_heads, n_kv_heads, window, dim // n_heads
        self.wq = nn.Linear(dim, n_heads * self.d, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.d, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.d, bias=False)
        self.wo = nn.Linear(n_heads * self.d, dim, bias=False)

    def stretched(self, x, layer):
        heads = layer.weight.unflatten(0, (self.n_kv_heads, self.d))
        index = torch.arange(self.n_heads, device=x.device) // (self.n_heads // self.n_kv_heads)
        return F.linear(x, heads[index].flatten(0, 1))

    def forward(self, x):
        fold = lambda z: z.unflatten(-1, (self.n_heads, self.d)).transpose(1, 2).flatten(0, 1)
        q, k, v = fold(self.wq(x)), fold(self.stretched(x, self.wk)), fold(self.stretched(x, self.wv))
        scores = torch.bmm(q, k.transpose(1, 2)) / self.d ** 0.5
        i = torch.arange(x.size(1), device=x.device)
        hidden = (i[None] > i[:, None]) | (i[None] <= i[:, None] - self.window)
        scores = torch.where(hidden, torch.finfo(scores.dtype).min, scores)
        out = torch.bmm(F.softmax(scores, dim=-1), v)
        return self.wo(out.unflatten(0, (-1, self.n_heads)).transpose(1, 2).flatten(2))
