"""The mask is a plain attribute that follows the module to its device, and future scores are assigned by index."""

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, input_dim, output_dim, context_length, dropout, num_heads, qkv_bias=False, verbose=False):
        super().__init__()
        if output_dim % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {output_dim} features")
        self.output_dim = output_dim
        self.num_heads = num_heads
        self.head_dim = output_dim // num_heads
        self.verbose = verbose
        self.W_query = nn.Linear(input_dim, output_dim, qkv_bias)
        self.W_key = nn.Linear(input_dim, output_dim, qkv_bias)
        self.W_value = nn.Linear(input_dim, output_dim, qkv_bias)
        self.causal_mask = torch.triu(torch.ones(context_length, context_length), diagonal=1).bool()
        self.dropout = nn.Dropout(dropout)
        self.out_proj = nn.Linear(output_dim, output_dim)

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self.causal_mask = self.causal_mask.to(self.out_proj.weight.device)
        return self

    def forward(self, x, verbose=False):
        batch_size, tokens, _ = x.shape
        limit = self.causal_mask.shape[-1]
        if limit < tokens:
            raise ValueError(f"context_length is {limit}, but there are {tokens} tokens")
        q = self.W_query(x).view(batch_size, tokens, self.num_heads, -1).transpose(1, 2)
        k = self.W_key(x).view(batch_size, tokens, self.num_heads, -1).transpose(1, 2)
        v = self.W_value(x).view(batch_size, tokens, self.num_heads, -1).transpose(1, 2)
        scores = q @ k.transpose(2, 3) * (1 / self.head_dim**0.5)
        scores[..., self.causal_mask[:tokens, :tokens]] = -torch.inf
        weights = self.dropout(torch.softmax(scores, dim=-1))
        context = (weights @ v).transpose(1, 2).contiguous().view(batch_size, tokens, self.output_dim)
        out = self.out_proj(context)
        if self.verbose or verbose:
            for name, tensor in {"scores": scores, "weights": weights, "context": context, "out": out}.items():
                print(f"{name}: {tuple(tensor.shape)}")
        return out
