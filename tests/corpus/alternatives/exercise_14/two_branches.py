"""is_causal without padding, a mask with it."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, num_heads: int, context_length: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_in, 3 * d_out, bias=False)
        self.proj = nn.Linear(d_out, d_out)

    def forward(self, x: torch.Tensor, keep: torch.Tensor | None = None) -> torch.Tensor:
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        if keep is None:
            context = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            place = torch.arange(t, device=x.device)
            seen = (place[:, None] >= place[None, :]) & keep[:, None, :]
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=seen.unsqueeze(1))
        return self.proj(context.transpose(1, 2).flatten(2))
