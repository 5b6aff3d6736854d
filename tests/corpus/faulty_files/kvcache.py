"""Causal attention that remembers the keys and values of earlier calls."""

import torch
import torch.nn.functional as F
from torch import nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads, max_len=64):
        super().__init__()
        assert d_model % n_heads == 0, "d_model must be divisible by n_heads"
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.max_len = max_len
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.proj = nn.Linear(d_model, d_model, bias=False)
        self.cache_k = None
        self.cache_v = None

    def reset(self):
        self.cache_k = None
        self.cache_v = None

    def forward(self, x, use_cache=False):
        B, T, C = x.shape
        q, k, v = self.qkv(x).split(C, dim=-1)
        q = q.view(B, T, self.n_heads, self.d_head).transpose(1, 2)
        k = k.view(B, T, self.n_heads, self.d_head).transpose(1, 2)
        v = v.view(B, T, self.n_heads, self.d_head).transpose(1, 2)
        past = 0
        if use_cache:
            if self.cache_k is not None:
                past = self.cache_k.size(2)
                k = torch.cat([self.cache_k, k], dim=2)
                v = torch.cat([self.cache_v, v], dim=2)
            if k.size(2) > self.max_len:
                raise ValueError(f"{k.size(2)} tokens do not fit into a cache of {self.max_len}")
            self.cache_k, self.cache_v = k, v
        scores = q @ k.transpose(-2, -1) * self.d_head**-0.5
        mask = torch.ones(T, k.size(2), dtype=torch.bool, device=x.device).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
        out = F.softmax(scores, dim=-1) @ v
        return self.proj(out.transpose(1, 2).reshape(B, T, C))
