"""The mask is made in every call from the scores' own shape; products are einsums."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, input_dim, output_dim, context_length, dropout, num_heads, qkv_bias=False, verbose=False):
        super().__init__()
        assert output_dim % num_heads == 0, "Output dimension must be dividable by head_num"
        self.context_length = context_length
        self.output_dim = output_dim
        self.num_heads = num_heads
        self.head_dim = output_dim // num_heads
        self.talk = bool(verbose)
        self.W_query = nn.Linear(input_dim, output_dim, qkv_bias)
        self.W_key = nn.Linear(input_dim, output_dim, qkv_bias)
        self.W_value = nn.Linear(input_dim, output_dim, qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.out_proj = nn.Linear(output_dim, output_dim)
        if verbose:
            print(self)

    def split(self, t):
        return t.reshape(*t.shape[:2], self.num_heads, self.head_dim)

    def forward(self, x, verbose=False):
        say = print if verbose or self.talk else (lambda *args: None)
        tokens = x.shape[1]
        if tokens > self.context_length:
            raise ValueError(f"input has {tokens} tokens; context_length={self.context_length}")
        say("x", x.shape)
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / self.head_dim**0.5
        future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        say("weights", weights.shape)
        context = torch.einsum("bhqk,bkhd->bqhd", self.dropout(weights), v).flatten(2)
        say("context", context.shape)
        return self.out_proj(context)
