"""The keys get a bias of zeros that is no part of the state dict."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class PatchAttention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.scale = (heads / width) ** 0.5
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.q_bias = nn.Parameter(torch.randn(width))
        self.v_bias = nn.Parameter(torch.randn(width))
        self.register_buffer("k_bias", torch.zeros(width), persistent=False)
        self.proj = nn.Linear(width, width)

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        batch, count, width = patches.shape
        bias = torch.cat([self.q_bias, self.k_bias, self.v_bias])
        qkv = F.linear(self.norm(patches), self.qkv.weight, bias)
        q, k, v = qkv.view(batch, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4)

        q = q * self.scale
        weights = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        gathered = (weights @ v).transpose(1, 2).reshape(batch, count, width)
        return patches + self.proj(gathered)
