"""A loop over the heads with slices of the features, and a finite additive mask made for each."""

import math

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, input_dim, output_dim, context_length, dropout, num_heads, qkv_bias=False, verbose=False):
        super().__init__()
        if output_dim % num_heads:
            raise ValueError("output_dim must be a multiple of num_heads")
        self.output_dim = output_dim
        self.num_heads = num_heads
        self.head_dim = output_dim // num_heads
        self.context_length = context_length
        self.verbose = verbose
        self.W_query = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_key = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_value = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.out_proj = nn.Linear(output_dim, output_dim)

    def one_head(self, queries, keys, values, verbose):
        tokens = queries.size(1)
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(self.head_dim)
        bias = torch.full((tokens, tokens), -1e9, dtype=scores.dtype, device=scores.device).triu(1)
        weights = torch.softmax(scores + bias, dim=-1)
        if verbose:
            print(f"  rows sum to {weights.sum(-1)}")
        return torch.bmm(self.dropout(weights), values)

    def forward(self, x, verbose=False):
        verbose = self.verbose or verbose
        _, tokens, _ = x.shape
        if tokens > self.context_length:
            raise ValueError("%d tokens are more than the %d of the context" % (tokens, self.context_length))
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        results = []
        for head in range(self.num_heads):
            if verbose:
                print(f"head {head}")
            part = slice(head * self.head_dim, (head + 1) * self.head_dim)
            results.append(self.one_head(queries[..., part], keys[..., part], values[..., part], verbose))
        return self.out_proj(torch.cat(results, dim=-1))
