"""The fused call scales; the queries go in as they are."""

import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, hidden_size, num_heads, attention_dropout=0.0, qkv_bias=True):
        super().__init__()
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        for name in ("q_proj", "k_proj", "v_proj"):
            self.add_module(name, nn.Linear(hidden_size, hidden_size, bias=qkv_bias))
        self.o_proj = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_states, attention_mask=None):
        def heads(states):
            return states.unflatten(-1, (self.num_heads, -1)).movedim(-2, -3)

        drop = {"dropout_p": self.attention_dropout} if self.training else {}
        out = F.scaled_dot_product_attention(
            heads(self.q_proj(hidden_states)),
            heads(self.k_proj(hidden_states)),
            heads(self.v_proj(hidden_states)),
            attention_mask,
            **drop,
        )
        return self.o_proj(out.movedim(-3, -2).flatten(-2))
