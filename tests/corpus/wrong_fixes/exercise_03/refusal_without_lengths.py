"""A refusal that gives no lengths, which is told as advice."""

import torch
import torch.nn as nn


class CausalSelfAttention(nn.Module):
    """Every token gathers what it needs from itself and from the tokens before it."""

    def __init__(self, input_dim, output_dim, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.output_dim = output_dim

        # what a token asks, what it offers, what it hands over: I -> O each
        self.W_query = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_key = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_value = nn.Linear(input_dim, output_dim, bias=qkv_bias)

        # the chance that an attention weight is dropped in training
        self.dropout = nn.Dropout(dropout)

        # (C, C), ones above the diagonal; a buffer, so that it moves with the module
        self.register_buffer('causal_mask', torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        # (B, T, I)
        batch_size, con_len, in_dim = x.shape
        context_length = self.causal_mask.shape[0]
        if con_len > context_length:
            raise ValueError("sequence too long")

        # (B, T, O) each
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)

        # (B, T, T): rows are queries, columns are keys
        attn_scores = queries @ keys.transpose(1, 2)

        # a key that stands after its query is out of sight
        attn_scores = attn_scores.masked_fill(self.causal_mask.bool()[:con_len, :con_len], -torch.inf)

        # every row becomes weights over the keys
        attn_weights = torch.softmax(attn_scores / keys.shape[-1]**0.5, dim=-1)
        attn_weights = self.dropout(attn_weights)

        # (B, T, O)
        context_vec = attn_weights @ values
        return context_vec
