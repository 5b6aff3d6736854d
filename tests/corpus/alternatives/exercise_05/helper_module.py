"""A module of its own does the attending, comparing positions; the story is told after the work is done."""

import torch
from torch import nn


class CausalHeads(nn.Module):
    """softmax(QK / sqrt(D)) V over heads, each token looking back only."""

    def __init__(self, dropout):
        super().__init__()
        self.dropout = dropout

    def forward(self, q, k, v):
        scores = torch.matmul(q, k.transpose(-2, -1)) / q.size(-1) ** 0.5
        rows = torch.arange(q.size(-2), device=q.device).unsqueeze(1)
        columns = torch.arange(k.size(-2), device=k.device).unsqueeze(0)
        weights = torch.softmax(scores.masked_fill(columns > rows, -torch.inf), dim=-1)
        return torch.matmul(self.dropout(weights), v), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, input_dim, output_dim, context_length, dropout, num_heads, qkv_bias=False, verbose=False):
        super().__init__()
        assert output_dim % num_heads == 0, "Output dimension must be dividable by head_num"
        self.output_dim = output_dim
        self.num_heads = num_heads
        self.head_dim = output_dim // num_heads
        self.max_tokens = context_length
        self.verbose = verbose
        self.W_query = nn.Linear(input_dim, output_dim, qkv_bias)
        self.W_key = nn.Linear(input_dim, output_dim, qkv_bias)
        self.W_value = nn.Linear(input_dim, output_dim, qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.heads = CausalHeads(self.dropout)
        self.out_proj = nn.Linear(output_dim, output_dim)

    def forward(self, x, verbose=False):
        n = x.shape[1]
        if n > self.max_tokens:
            message = f"the sequence has {n} tokens, which is more than context_length = {self.max_tokens}"
            raise ValueError(message)
        q = self.split_heads(self.W_query(x))
        k = self.split_heads(self.W_key(x))
        v = self.split_heads(self.W_value(x))
        context, weights = self.heads(q, k, v)
        if any((verbose, self.verbose)):
            self.explain(x, q, weights, context)
        return self.out_proj(self.join_heads(context))

    def split_heads(self, t):
        batch_size, n, _ = t.shape
        return t.view(batch_size, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)

    def join_heads(self, t):
        return torch.cat(t.unbind(1), dim=-1)

    def explain(self, x, q, weights, context):
        print("1. input:", tuple(x.shape))
        print("2. queries, keys, values:", tuple(q.shape))
        print("3. attention weights:", weights)
        print("4. context vectors:", tuple(context.shape))
