"""Hidden scores are set to minus a million, samples and heads on one axis, as a textbook has it."""

import math
from typing import Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

class DotProductAttention:
    """Scaled dot product attention."""
    def __init__(self, dropout):
        self.dropout = dropout

    @staticmethod
    def masked_softmax(X, valid):
        """Perform softmax operation by masking elements on the last axis."""
        if valid is None:
            return nn.functional.softmax(X, dim=-1)
        shape = X.shape
        X = X.reshape(-1, shape[-1]).clone()
        valid = valid.reshape(-1, shape[-1])
        X[~valid] = -1e6
        return nn.functional.softmax(X.reshape(shape), dim=-1) * valid.reshape(shape)

    def __call__(self, queries, keys, values, valid=None):
        d = queries.shape[-1]
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(d)
        self.attention_weights = self.masked_softmax(scores, valid)
        return torch.bmm(self.dropout(self.attention_weights), values)


def core(q, k, v, m=None, drop=None):
    B, H, T, D = q.shape
    S = k.shape[2]
    one = DotProductAttention(drop if drop is not None else nn.Identity())
    m = None if m is None else m.expand(B, H, T, S).reshape(B * H, T, S)
    y = one(q.reshape(B * H, T, D), k.reshape(B * H, S, D), v.reshape(B * H, S, -1), m)
    return y.reshape(B, H, T, -1), one.attention_weights.reshape(B, H, T, S)

class Heads:
    """Mixin: cuts features into heads and lays them side by side again."""

    def split(self, x):
        b, t, e = x.shape
        return torch.einsum("bthd->bhtd", x.reshape(b, t, self.num_heads, e // self.num_heads))

    def join(self, x):
        return x.transpose(1, 2).flatten(start_dim=2)


class ScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)

    def extra_repr(self):
        return "scaled"

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            target = (*query.shape[:-1], key.shape[-2])
            mask = torch.broadcast_to(mask.bool(), target)
        return core(query, key, value, mask, self.dropout)


class MultiHeadAttention(Heads, nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        nn.Module.__init__(self)
        if embed_dim % num_heads != 0:
            raise ValueError("indivisible")
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.register_buffer("scale", torch.tensor(1.0), persistent=False)
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=True)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=True)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=True)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=True)
        self.attention = ScaledDotProductAttention(dropout)

    @property
    def head_dim(self) -> int:
        return self.embed_dim // self.num_heads

    def forward(self, x: torch.Tensor, mask: Optional[torch.Tensor] = None) -> Tuple[torch.Tensor, torch.Tensor]:
        wei = torch.cat((self.q_proj.weight, self.k_proj.weight, self.v_proj.weight))
        bias = torch.cat((self.q_proj.bias, self.k_proj.bias, self.v_proj.bias))
        q, k, v = (self.split(part) for part in F.linear(x, wei, bias).tensor_split(3, dim=-1))
        y, w = self.attention(q, k, v, mask)
        return self.out_proj(self.join(y)), w
