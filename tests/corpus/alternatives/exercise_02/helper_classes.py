"""Taken apart into helper modules and functions; the mask is a bias, and blind rows are multiplied by zero."""

import math

import torch
from torch import Tensor, nn


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    batch_size, seq_len, embed_dim = x.shape
    return x.view(batch_size, seq_len, num_heads, embed_dim // num_heads).permute(0, 2, 1, 3)


def merge_heads(x: Tensor) -> Tensor:
    batch_size, num_heads, seq_len, head_dim = x.shape
    return x.permute(0, 2, 1, 3).contiguous().view(batch_size, seq_len, num_heads * head_dim)


class Weights(nn.Module):
    """Softmax over the visible keys."""

    def forward(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        if mask is None:
            return scores.softmax(dim=-1)
        bias = torch.zeros_like(scores).masked_fill(mask == 0, torch.finfo(scores.dtype).min / 2)
        sighted = (mask != 0).any(dim=-1, keepdim=True).to(scores.dtype)
        return (scores + bias).softmax(dim=-1) * sighted


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.1):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim ({embed_dim}) must be a multiple of num_heads ({num_heads})")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.W_q, self.W_k, self.W_v, self.W_out = (nn.Linear(embed_dim, embed_dim) for _ in range(4))
        self.weights = Weights()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_q, self.W_k, self.W_v))
        scores = q.matmul(k.mT).div(math.sqrt(self.head_dim))
        return self.W_out(merge_heads(self.dropout(self.weights(scores, mask)).matmul(v)))
