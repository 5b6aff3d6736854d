"""A new axis is expanded and joined, as the original does it."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def repeat_kv(t, n):
    b, h, s, d = t.shape
    return t[:, :, None].expand(b, h, n, s, d).reshape(b, h * n, s, d)


class GroupedAttention(nn.Module):
    def __init__(self, dim: int, n_heads: int, n_kv_heads: int, window: int):
        super().__init__()
        self.heads, self.kv_heads, self.window = n_heads, n_kv_heads, window
        size = dim // n_heads
        self.wq = nn.Linear(dim, n_heads * size, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * size, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * size, bias=False)
        self.wo = nn.Linear(n_heads * size, dim, bias=False)

    def forward(self, x):
        b, s, _ = x.shape
        q = self.wq(x).view(b, s, self.heads, -1).transpose(1, 2)
        k, v = (repeat_kv(w(x).view(b, s, self.kv_heads, -1).transpose(1, 2), self.heads // self.kv_heads)
                for w in (self.wk, self.wv))
        ones = torch.ones(s, s, device=x.device)
        seen = (ones.tril() - ones.tril(-self.window)) > 0
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.wo(out.transpose(1, 2).reshape(b, s, -1))
