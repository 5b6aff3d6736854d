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

class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super(MultiHeadAttention, self).__init__()
        if not (embed_dim / num_heads).is_integer():
            raise AssertionError("embed_dim {} % num_heads {} != 0".format(embed_dim, num_heads))
        self.num_heads = num_heads
        self.head_dim = int(embed_dim / num_heads)
        self.W_q = torch.nn.Linear(embed_dim, embed_dim)
        self.W_k = torch.nn.Linear(embed_dim, embed_dim)
        self.W_v = torch.nn.Linear(embed_dim, embed_dim)
        self.W_out = torch.nn.Linear(embed_dim, embed_dim)
        self.dropout = torch.nn.Dropout(dropout)

    def heads(self, linear, x):
        # one einsum for projection and split
        w = linear.weight.view(self.num_heads, self.head_dim, -1)
        b = linear.bias.view(1, self.num_heads, 1, self.head_dim)
        return torch.einsum("bte,hde->bhtd", x, w) + b

    def forward(self, x, mask=None):
        assert x.ndim == 3, "expected (batch, tokens, embed_dim)"
        m = mask
        if m is not None:
            m = torch.ne(m, 0)
            m = m.view(*[1] * (4 - m.dim()), *m.shape)
        y, _ = core(self.heads(self.W_q, x), self.heads(self.W_k, x), self.heads(self.W_v, x), m, self.dropout)
        w = self.W_out.weight.view(-1, self.num_heads, self.head_dim)
        return torch.einsum("bhtd,ehd->bte", y, w) + self.W_out.bias
