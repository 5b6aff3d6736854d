"""Einstein sums; a mask that is missing is one of ones."""

import torch
from torch import einsum, nn


class CrossAttentionBlock(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.heads, self.size = n_heads, d_model // n_heads
        self.norm = nn.LayerNorm(d_model)
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, d_model * 2, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x, memory, memory_mask=None):
        q = self.to_q(self.norm(x)).unflatten(2, (self.heads, self.size))
        k, v = self.to_kv(memory).unflatten(2, (2, self.heads, self.size)).unbind(2)
        if memory_mask is None:
            memory_mask = torch.ones(memory.shape[:2], dtype=torch.bool, device=memory.device)
        sim = einsum("bthd,bshd->bhts", q, k) / self.size ** 0.5
        sim = torch.where(memory_mask[:, None, None], sim, -torch.inf)
        return self.to_out(einsum("bhts,bshd->bthd", sim.softmax(-1), v).flatten(2)).add(x)
