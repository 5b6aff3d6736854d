"""The mask is checked by a loop over its axes, and the softmax works on scores divided out of place."""

from typing import NamedTuple, Optional

import torch
from torch import nn


class Sizes(NamedTuple):
    queries: int
    keys: int
    batch: int

    def refuse(self, mask):
        """Raise where the mask is not (queries or 1, keys, batch or 1)."""
        good = mask.dim() == 3
        if good:
            for axis, (size, wanted) in enumerate(zip(mask.shape, self)):
                may_be_one = axis != 1
                good = good and (size == wanted or (may_be_one and size == 1))
        if not good:
            raise ValueError(f"mask.shape is {tuple(mask.shape)} but should be {self}")


class PrepareForMultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, heads: int, d_k: int, bias: bool):
        super().__init__()
        self.linear = nn.Linear(d_model, heads * d_k, bias=bias)
        self.heads = heads
        self.d_k = d_k

    def forward(self, x: torch.Tensor):
        return self.linear(x).view(*x.shape[:-1], self.heads, self.d_k)


class MultiHeadAttention(nn.Module):
    attn: Optional[torch.Tensor] = None

    def __init__(self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True):
        super().__init__()
        if d_model % heads != 0:
            raise ValueError(f"heads ({heads}) must divide d_model ({d_model})")
        self.heads, self.d_k = heads, d_model // heads
        for name in ("query", "key", "value"):
            self.add_module(name, PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias))
        self.output = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout_prob)

    def get_scores(self, query: torch.Tensor, key: torch.Tensor):
        return torch.einsum("ibhd,jbhd->ijbh", query, key)

    def forward(self, *, query, key, value, mask=None):
        sizes = Sizes(query.shape[0], key.shape[0], query.shape[1])
        if mask is not None:
            sizes.refuse(mask)
        q, k, v = self.query(query), self.key(key), self.value(value)
        scores = self.get_scores(q, k).div(self.d_k**0.5)
        if mask is not None:
            scores = scores.masked_fill(mask.eq(0).unsqueeze(-1), torch.finfo(scores.dtype).min)
        self.attn = attn = scores.softmax(dim=1)
        self.attn = self.attn.detach()
        out = torch.einsum("ijbh,jbhd->ibhd", self.dropout(attn), v)
        return self.output(out.reshape(sizes.queries, sizes.batch, -1))
