"""The page of matrix products, back again."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, hidden_size, num_heads, attention_dropout=0.0, qkv_bias=True):
        super().__init__()
        self.num_heads = num_heads
        self.p = attention_dropout
        self.q_proj = nn.Linear(hidden_size, hidden_size, bias=qkv_bias)
        self.k_proj = nn.Linear(hidden_size, hidden_size, bias=qkv_bias)
        self.v_proj = nn.Linear(hidden_size, hidden_size, bias=qkv_bias)
        self.o_proj = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_states, attention_mask=None):
        b, t, c = hidden_states.shape
        q, k, v = (
            layer(hidden_states).view(b, t, self.num_heads, c // self.num_heads).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if attention_mask is not None:
            scores = scores.masked_fill(~attention_mask, float("-inf"))
        weights = F.dropout(F.softmax(scores, dim=-1), self.p, self.training)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(b, t, c))
