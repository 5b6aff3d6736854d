"""torch's own attention with is_causal=True; there is no mask to keep."""

import torch.nn as nn
import torch.nn.functional as F


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
        tokens = x.size(1)
        if tokens > self.context_length:
            raise ValueError(f"got {tokens} tokens, but context_length is {self.context_length}")
        return F.scaled_dot_product_attention(
            self.W_query(x),
            self.W_key(x),
            self.W_value(x),
            dropout_p=self.dropout.p if self.training else 0.0,
            is_causal=True,
        )
