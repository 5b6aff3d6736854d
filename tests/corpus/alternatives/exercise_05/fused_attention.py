"""torch's own causal attention; a report is printed at the end where it is wanted."""

import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, input_dim, output_dim, context_length, dropout, num_heads, qkv_bias=False, verbose=False):
        super().__init__()
        if output_dim % num_heads != 0:
            raise ValueError(f"output_dim={output_dim} is not divisible by num_heads={num_heads}")
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

    def forward(self, x, verbose=False):
        if x.size(1) > self.context_length:
            raise ValueError(f"{x.size(1)} tokens, but the context holds {self.context_length}")
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        p = self.dropout.p if self.training else 0.0
        context = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        output = self.out_proj(context.transpose(1, 2).flatten(2))
        if verbose or self.verbose:
            print(f"input   {tuple(x.shape)}")
            print(f"heads   {tuple(q.shape)}")
            print(f"output  {tuple(output.shape)}")
        return output
