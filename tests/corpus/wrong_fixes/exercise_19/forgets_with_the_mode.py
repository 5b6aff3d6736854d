"""Both are mended, and what was read is forgotten where the mode changes.
expect: 
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class RememberingAttention(nn.Module):
    def __init__(self, d_model, n_heads, max_len):
        super().__init__()
        self.n_heads = n_heads
        self.positions = nn.Embedding(max_len, d_model)
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model)
        self.offset = 0
        self.past = None

    def train(self, mode=True):
        self.offset, self.past = 0, None
        return super().train(mode)

    def forward(self, x, more=False):
        if not more:
            self.offset, self.past = 0, None
        new = x.shape[1]

        places = torch.arange(self.offset, self.offset + new, device=x.device)
        qkv = self.qkv(x + self.positions(places))

        # three of (batch, heads, words, size)
        q, k, v = qkv.unflatten(-1, (3, self.n_heads, -1)).permute(2, 0, 3, 1, 4)
        if self.past is not None:
            k = torch.cat([self.past[0], k], dim=2)
            v = torch.cat([self.past[1], v], dim=2)
        self.past = k.detach(), v.detach()

        known = k.shape[2]
        self.offset += new
        visible = torch.ones(new, known, dtype=torch.bool, device=x.device).tril(known - new)

        z = F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
        return self.out(z.transpose(1, 2).flatten(2))
