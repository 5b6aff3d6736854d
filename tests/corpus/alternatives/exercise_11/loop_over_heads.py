"""Head by head; the mask is expanded to all heads first and added as a bias."""

import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, hidden_size, num_heads, attention_dropout=0.0, qkv_bias=True):
        super().__init__()
        self.heads = num_heads
        self.dropout = nn.Dropout(p=attention_dropout)
        self.q_proj, self.k_proj, self.v_proj = [nn.Linear(hidden_size, hidden_size, bias=bool(qkv_bias)) for _ in "qkv"]
        self.o_proj = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_states, attention_mask=None):
        batch, tokens, _ = hidden_states.shape
        bias = hidden_states.new_zeros(batch, self.heads, tokens, tokens)
        if attention_mask is not None:
            bias = bias.masked_fill(attention_mask.logical_not(), float("-inf"))
        qs, ks, vs = (f(hidden_states).chunk(self.heads, dim=-1) for f in (self.q_proj, self.k_proj, self.v_proj))
        outs = []
        for h in range(self.heads):
            scores = torch.bmm(qs[h], ks[h].transpose(1, 2)) / qs[h].shape[-1] ** 0.5
            outs.append(torch.bmm(self.dropout(torch.softmax(scores + bias[:, h], dim=-1)), vs[h]))
        return self.o_proj(torch.cat(outs, dim=-1))
