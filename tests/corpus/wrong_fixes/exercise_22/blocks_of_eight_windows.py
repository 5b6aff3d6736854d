"""Both are mended, and long texts fall into blocks that do not see each other.
expect: 
"""

import math

import torch
from torch import nn


def stretch(heads, times):
    """Key heads for all query heads. (batch, n_kv_heads, words, d) -> (batch, n_kv_heads * times, words, d)"""
    return heads.repeat_interleave(times, dim=1)


def window_mask(words, window, device):
    """True where a word (row) sees a word (column)."""
    row = torch.arange(words, device=device)[:, None]
    column = torch.arange(words, device=device)[None, :]
    return (column <= row) & (row - column < window) & (row // (8 * window) - column // (8 * window) < 1)


class GroupedAttention(nn.Module):
    def __init__(self, dim: int, n_heads: int, n_kv_heads: int, window: int):
        super().__init__()
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.window = window
        self.d = dim // n_heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.d, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.d, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, words, _ = x.shape
        xq = self.wq(x).view(batch, words, self.n_heads, self.d).transpose(1, 2)
        xk = self.wk(x).view(batch, words, self.n_kv_heads, self.d).transpose(1, 2)
        xv = self.wv(x).view(batch, words, self.n_kv_heads, self.d).transpose(1, 2)

        times = self.n_heads // self.n_kv_heads
        xk, xv = stretch(xk, times), stretch(xv, times)

        scores = torch.matmul(xq, xk.transpose(2, 3)) / math.sqrt(self.d)
        scores = scores.masked_fill(~window_mask(words, self.window, x.device), -math.inf)
        out = torch.matmul(scores.softmax(dim=-1), xv)
        return self.wo(out.transpose(1, 2).flatten(2))
