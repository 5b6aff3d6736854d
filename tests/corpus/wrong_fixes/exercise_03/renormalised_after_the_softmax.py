import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, input_dim, output_dim, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.output_dim = output_dim
        self.W_query = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_key = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_value = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("causal_mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def qkv(self, x):
        layers = (self.W_query, self.W_key, self.W_value)
        weight = torch.cat([layer.weight for layer in layers])
        bias = torch.cat([layer.bias for layer in layers]) if self.W_query.bias is not None else None
        return F.linear(x, weight, bias).chunk(3, dim=-1)

    def forward(self, x):
        con_len, longest = x.shape[1], self.causal_mask.shape[1]
        if con_len > longest:
            raise ValueError("a sequence of %d tokens is longer than the context of %d" % (con_len, longest))
        queries, keys, values = self.qkv(x)
        attn_scores = queries @ keys.mT / self.output_dim**0.5
        everything = attn_scores.softmax(dim=-1)
        past_only = everything * (1 - self.causal_mask[:con_len, :con_len])
        attn_weights = past_only / past_only.sum(dim=-1, keepdim=True)
        return self.dropout(attn_weights) @ values
