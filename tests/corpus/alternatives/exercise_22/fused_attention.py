"""torch's own attention, which knows of groups."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GroupedAttention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads, window):
        super().__init__()
        self.d, self.window = dim // n_heads, window
        self.wq = nn.Linear(dim, n_heads * self.d, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.d, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.d, bias=False)
        self.wo = nn.Linear(n_heads * self.d, dim, bias=False)

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (-1, self.d)).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        seen = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device)
        seen = seen.tril().triu(1 - self.window)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)
        return self.wo(out.transpose(1, 2).flatten(2))
