"""The convolutions are linear layers on each pixel, and are used as such."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ImageAttention(nn.Module):
    def __init__(self, channels: int, heads: int = 4, dim_head: int = 32) -> None:
        super().__init__()
        inner = heads * dim_head
        self.shape = (heads, dim_head)
        self.to_qkv = nn.Conv2d(channels, inner * 3, 1, bias=False)
        self.to_out = nn.Conv2d(inner, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pixels = x.flatten(2).transpose(1, 2)  # (batch, pixels, channels)
        q, k, v = F.linear(pixels, self.to_qkv.weight[:, :, 0, 0]).chunk(3, dim=-1)
        q, k, v = (t.unflatten(-1, self.shape) for t in (q, k, v))  # (batch, pixels, heads, dim_head)
        scores = torch.einsum("ipnd,iqnd->inpq", q / self.shape[1] ** 0.5, k)
        out = torch.einsum("inpq,iqnd->ipnd", scores.softmax(-1), v).flatten(2)
        out = F.linear(out, self.to_out.weight[:, :, 0, 0], self.to_out.bias)
        return x + out.transpose(1, 2).reshape(x.shape)
