"""A namespace for a config, roots on both sides of the product, a softmax from exponentials."""

from types import SimpleNamespace

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, hidden_size, num_heads, attention_dropout=0.0, qkv_bias=True):
        super().__init__()
        self.config = SimpleNamespace(heads=num_heads, size=hidden_size // num_heads, p=attention_dropout)
        self.q_proj = nn.Linear(hidden_size, hidden_size, bias=qkv_bias)
        self.k_proj = nn.Linear(hidden_size, hidden_size, bias=qkv_bias)
        self.v_proj = nn.Linear(hidden_size, hidden_size, bias=qkv_bias)
        self.o_proj = nn.Linear(hidden_size, hidden_size)

    def heads(self, states, factor=1.0):
        return (states * factor).reshape(*states.shape[:2], self.config.heads, self.config.size).permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask=None):
        root = self.config.size**-0.25
        scores = self.heads(self.q_proj(hidden_states), root) @ self.heads(self.k_proj(hidden_states), root).mT
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask == 0, torch.finfo(scores.dtype).min)
        weights = torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))
        if self.training and self.config.p > 0:
            weights = nn.functional.dropout(weights, self.config.p)
        mixed = weights @ self.heads(self.v_proj(hidden_states))
        return self.o_proj(mixed.permute(0, 2, 1, 3).flatten(2))
