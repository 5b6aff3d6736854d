"""torch's own attention, batch first in between; one mask for both purposes."""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention


class TemporalAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, series, observed=None):
        t, b, w = series.shape
        q, k, v = self.in_proj(series).view(t, b, 3, self.heads, w // self.heads).permute(2, 1, 3, 0, 4)
        visible = torch.ones(t, t, dtype=torch.bool, device=series.device).tril()
        if observed is not None:
            visible = visible & observed.T.view(b, 1, 1, t)
        out = scaled_dot_product_attention(q, k, v, attn_mask=visible)
        return self.out_proj(out.permute(2, 0, 1, 3).reshape(t, b, w))
