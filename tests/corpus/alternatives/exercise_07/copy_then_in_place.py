"""A copy of the scores is made first, so the scale and the mask may then work in place."""

import math
from typing import Optional

import torch
from torch import Tensor, nn


class PrepareForMultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, heads: int, d_k: int, bias: bool):
        super().__init__()
        self.linear = nn.Linear(d_model, heads * d_k, bias=bias)
        self.heads = heads
        self.d_k = d_k

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x).view(x.shape[:-1] + (self.heads, self.d_k))


def require_layout(mask: Tensor, queries: int, keys: int, batch: int) -> None:
    def fits(size: int, *allowed: int) -> bool:
        return size in allowed

    if mask.dim() == 3:
        i, j, b = mask.shape
        if fits(i, 1, queries) and fits(j, keys) and fits(b, 1, batch):
            return
    raise ValueError(
        f"mask of shape {tuple(mask.shape)}: the layout is (queries, keys, batch), here ({queries}, {keys}, {batch})"
    )


class MultiHeadAttention(nn.Module):
    def __init__(self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True):
        super().__init__()
        if d_model % heads != 0:
            raise ValueError(f"d_model % heads must be 0, but {d_model} % {heads} is {d_model % heads}")
        self.d_k = d_model // heads
        self.heads = heads
        make = lambda: PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.query, self.key, self.value = make(), make(), make()
        self.output = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout_prob)
        self.scale = 1 / math.sqrt(self.d_k)
        self.attn: Optional[Tensor] = None

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        return torch.einsum("ibhd,jbhd->ijbh", query, key)

    def forward(self, *, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        if mask is not None:
            require_layout(mask, query.size(0), key.size(0), query.size(1))
        scores = self.get_scores(self.query(query), self.key(key)).clone()
        scores *= self.scale
        if mask is not None:
            scores.masked_fill_(mask.unsqueeze(-1) == 0, float("-inf"))
        weights = scores.softmax(dim=1)
        self.attn = weights.detach().clone()
        mixed = torch.einsum("ijbh,jbhd->ibhd", self.dropout(weights), self.value(value))
        return self.output(mixed.flatten(start_dim=2))
