"""Printing goes through one helper method, the mask is masked in place, and heads are joined with reshape."""

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, input_dim, output_dim, context_length, dropout, num_heads, qkv_bias=False, verbose=False):
        super().__init__()
        assert output_dim % num_heads == 0, "output_dim must be divisible by num_heads"
        self.output_dim = output_dim
        self.num_heads = num_heads
        self.head_dim = output_dim // num_heads
        self.context_length = context_length
        self.verbose = verbose

        self.W_query = nn.Linear(input_dim, output_dim, qkv_bias)
        self.W_key = nn.Linear(input_dim, output_dim, qkv_bias)
        self.W_value = nn.Linear(input_dim, output_dim, qkv_bias)
        self.register_buffer(
            "causal_mask", torch.ones(context_length, context_length).triu(diagonal=1).bool(), persistent=False
        )
        self.dropout = nn.Dropout(dropout)
        self.out_proj = nn.Linear(output_dim, output_dim)
        self._say(verbose, f"built with {num_heads} heads of size {self.head_dim}")

    @staticmethod
    def _say(verbose, text):
        if verbose:
            print(text)

    def forward(self, x, verbose=False):
        verbose = verbose or self.verbose
        batch_size, tokens, _ = x.shape
        if tokens > self.context_length:
            raise ValueError(f"sequence length {tokens} exceeds context_length {self.context_length}")
        self._say(verbose, f"input: {tuple(x.shape)}")
        shape = (batch_size, tokens, self.num_heads, self.head_dim)
        queries = self.W_query(x).view(shape).transpose(1, 2)
        keys = self.W_key(x).view(shape).transpose(1, 2)
        values = self.W_value(x).view(shape).transpose(1, 2)
        self._say(verbose, f"heads: {tuple(queries.shape)}")

        attn_scores = queries @ keys.transpose(2, 3)
        attn_scores.masked_fill_(self.causal_mask[:tokens, :tokens], -torch.inf)
        attn_weights = self.dropout(torch.softmax(attn_scores / self.head_dim**0.5, dim=-1))
        self._say(verbose, f"weights of the first head:\n{attn_weights[0, 0]}")

        context_vec = (attn_weights @ values).transpose(1, 2).reshape(batch_size, tokens, self.output_dim)
        return self.out_proj(context_vec)
