"""One product for queries, keys and values; the mask is a non-persistent buffer of zeros and ones in integers."""

import sys

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, input_dim, output_dim, context_length, dropout, num_heads, qkv_bias=False, verbose=False):
        super().__init__()
        assert output_dim % num_heads == 0, (output_dim, num_heads)
        self.output_dim, self.num_heads, self.head_dim = output_dim, num_heads, output_dim // num_heads
        self.verbose = verbose
        self.W_query = nn.Linear(input_dim, output_dim, qkv_bias)
        self.W_key = nn.Linear(input_dim, output_dim, qkv_bias)
        self.W_value = nn.Linear(input_dim, output_dim, qkv_bias)
        self.register_buffer("lower", torch.ones(context_length, context_length, dtype=torch.uint8).tril(), persistent=False)
        self.dropout = nn.Dropout(dropout)
        self.out_proj = nn.Linear(output_dim, output_dim)

    def forward(self, x, verbose=False):
        batch_size, length, _ = x.shape
        if length > len(self.lower):
            raise ValueError(f"at most {len(self.lower)} tokens, got {length}")
        layers = [self.W_query, self.W_key, self.W_value]
        weight = torch.cat([layer.weight for layer in layers])
        bias = None if self.W_query.bias is None else torch.cat([layer.bias for layer in layers])
        qkv = F.linear(x, weight, bias).view(batch_size, length, 3, self.num_heads, self.head_dim)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        scores = (q @ k.mT).mul(self.head_dim**-0.5)
        scores = scores.masked_fill(self.lower[:length, :length] == 0, torch.finfo(scores.dtype).min)
        weights = self.dropout(scores.softmax(-1))
        if verbose or self.verbose:
            sys.stdout.write(f"q, k, v: {tuple(q.shape)}\nweights: {tuple(weights.shape)}\n")
        out = (weights @ v).permute(0, 2, 1, 3).contiguous().view(batch_size, length, -1)
        return self.out_proj(out)
