"""No buffer: the mask is compared together from positions in every call, and einsum does the products."""

import torch
import torch.nn as nn


class CausalSelfAttention(nn.Module):
    def __init__(self, input_dim, output_dim, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.output_dim = output_dim
        self.context_length = context_length
        self.W_query = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_key = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_value = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        tokens = x.shape[1]
        if tokens > self.context_length:
            raise ValueError(f"{tokens} tokens do not fit into a context of {self.context_length}")
        scores = torch.einsum("bqd,bkd->bqk", self.W_query(x), self.W_key(x)) / self.output_dim**0.5
        position = torch.arange(tokens, device=x.device)
        visible = position[None, :] <= position[:, None]
        scores = torch.where(visible, scores, float("-inf"))
        weights = self.dropout(scores.softmax(dim=-1))
        return torch.einsum("bqk,bkd->bqd", weights, self.W_value(x))
