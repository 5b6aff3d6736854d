"""Einstein sums with the weights themselves."""

import torch
from torch import einsum, nn


class PatchAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.q_bias = nn.Parameter(torch.zeros(width))
        self.v_bias = nn.Parameter(torch.zeros(width))
        self.proj = nn.Linear(width, width)

    def forward(self, patches):
        wq, wk, wv = self.qkv.weight.unflatten(0, (3, self.heads, -1)).unbind(0)
        z = self.norm(patches)
        q = einsum("bpc,hdc->bhpd", z, wq) + self.q_bias.view(self.heads, 1, -1)
        k = einsum("bpc,hdc->bhpd", z, wk)
        v = einsum("bpc,hdc->bhpd", z, wv) + self.v_bias.view(self.heads, 1, -1)
        weights = torch.softmax(einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5, dim=-1)
        return self.proj(einsum("bhij,bhjd->bihd", weights, v).flatten(2)) + patches
