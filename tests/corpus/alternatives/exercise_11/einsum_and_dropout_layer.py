"""Einstein sums, and an nn.Dropout that knows its mode."""

import torch
from torch import einsum, nn


class Attention(nn.Module):
    def __init__(self, hidden_size: int, num_heads: int, attention_dropout: float = 0.0, qkv_bias: bool = True):
        super().__init__()
        self.size = hidden_size // num_heads
        self.q_proj = nn.Linear(hidden_size, hidden_size, qkv_bias)
        self.k_proj = nn.Linear(hidden_size, hidden_size, qkv_bias)
        self.v_proj = nn.Linear(hidden_size, hidden_size, qkv_bias)
        self.o_proj = nn.Linear(hidden_size, hidden_size)
        self.drop = nn.Dropout(attention_dropout)

    def forward(self, hidden_states, attention_mask=None):
        q, k, v = (f(hidden_states).unflatten(2, (-1, self.size)) for f in (self.q_proj, self.k_proj, self.v_proj))
        sim = einsum("bihd,bjhd->bhij", q * self.size**-0.5, k)
        if attention_mask is not None:
            sim = torch.where(attention_mask, sim, -torch.inf)
        out = einsum("bhij,bjhd->bihd", self.drop(sim.softmax(-1)), v)
        return self.o_proj(out.flatten(2))
