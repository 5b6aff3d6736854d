"""A loop over the tokens in which each query is only ever shown the keys up to its own."""

import torch
import torch.nn as nn


class CausalSelfAttention(nn.Module):
    def __init__(self, input_dim, output_dim, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.output_dim = output_dim
        self.context_length = int(context_length)
        self.W_query = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_key = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.W_value = nn.Linear(input_dim, output_dim, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch_size, con_len, _ = x.shape
        if con_len > self.context_length:
            raise ValueError(f"{con_len} tokens given, at most {self.context_length} allowed")
        keys, queries, values = self.W_key(x), self.W_query(x), self.W_value(x)
        rows = []
        for i in range(con_len):
            past_keys = keys[:, : i + 1]
            past_values = values[:, : i + 1]
            scores = (past_keys @ queries[:, i].unsqueeze(-1)).squeeze(-1) / self.output_dim**0.5
            weights = self.dropout(torch.softmax(scores, dim=-1))
            rows.append((weights.unsqueeze(1) @ past_values).squeeze(1))
        return torch.stack(rows, dim=1)
