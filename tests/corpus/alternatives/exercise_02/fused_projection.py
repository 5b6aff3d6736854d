"""Queries, keys and values come from one product with the stacked weights of the three layers."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("cannot share %d features among %d heads" % (embed_dim, num_heads))
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_out = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        batch_size, seq_len, embed_dim = x.size()
        weight = torch.cat((self.W_q.weight, self.W_k.weight, self.W_v.weight), dim=0)
        bias = torch.cat((self.W_q.bias, self.W_k.bias, self.W_v.bias), dim=0)
        queries, keys, values = (
            part.view(batch_size, seq_len, self.num_heads, self.head_dim).transpose(1, 2)
            for part in F.linear(x, weight, bias).split(embed_dim, dim=-1)
        )
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = torch.where(mask == 0, torch.tensor(-1e30, dtype=scores.dtype), scores)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights * (mask != 0)
        context = self.dropout(weights) @ values
        return self.W_out(context.transpose(1, 2).reshape(x.shape))
