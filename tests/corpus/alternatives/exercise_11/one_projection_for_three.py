"""The three projections are done by one product of their stacked weights."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, hidden_size, num_heads, attention_dropout=0.0, qkv_bias=True):
        super().__init__()
        self.num_heads, self.attention_dropout = num_heads, attention_dropout
        self.q_proj = nn.Linear(hidden_size, hidden_size, bias=qkv_bias)
        self.k_proj = nn.Linear(hidden_size, hidden_size, bias=qkv_bias)
        self.v_proj = nn.Linear(hidden_size, hidden_size, bias=qkv_bias)
        self.o_proj = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_states, attention_mask=None):
        layers = self.q_proj, self.k_proj, self.v_proj
        weight = torch.cat([layer.weight for layer in layers])
        bias = None if layers[0].bias is None else torch.cat([layer.bias for layer in layers])
        b, t, _ = hidden_states.shape
        q, k, v = F.linear(hidden_states, weight, bias).reshape(b, t, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        p = self.attention_dropout * self.training
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=attention_mask, dropout_p=p, scale=q.size(-1) ** -0.5)
        return self.o_proj(out.permute(0, 2, 1, 3).reshape(b, t, -1))
