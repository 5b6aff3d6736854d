"""Each word looks at a slice."""

import torch
import torch.nn as nn


class GroupedAttention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads, window):
        super().__init__()
        self.shape = (n_kv_heads, n_heads // n_kv_heads, dim // n_heads)
        self.window = window
        self.wq = nn.Linear(dim, dim // n_heads * n_heads, bias=False)
        self.wk = nn.Linear(dim, dim // n_heads * n_kv_heads, bias=False)
        self.wv = nn.Linear(dim, dim // n_heads * n_kv_heads, bias=False)
        self.wo = nn.Linear(dim // n_heads * n_heads, dim, bias=False)

    def forward(self, x):
        kv, group, d = self.shape
        q = self.wq(x).reshape(*x.shape[:2], kv, group, d) * d ** -0.5
        k = self.wk(x).reshape(*x.shape[:2], kv, 1, d)
        v = self.wv(x).reshape(*x.shape[:2], kv, 1, d)
        out = []
        for i in range(x.shape[1]):
            view = slice(max(0, i + 1 - self.window), i + 1)
            weights = (q[:, i : i + 1] * k[:, view]).sum(-1, keepdim=True).softmax(dim=1)
            out.append((weights * v[:, view]).sum(1).flatten(1))
        return self.wo(torch.stack(out, dim=1))
