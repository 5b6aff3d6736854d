"""Each head's share of the projection is added up, in place of lining the heads up first."""

import torch
import torch.nn as nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in range(3))
        self.register_buffer("allowed", torch.ones(block_size, block_size).tril().bool(), persistent=False)

    def forward(self, x):
        b, t, _ = x.size()
        q, k = self.query(x), self.key(x)
        att = torch.baddbmm(q.new_zeros(b, t, t), q, k.transpose(1, 2), alpha=q.size(2) ** -0.5)
        att = torch.where(self.allowed[:t, :t], att, torch.full_like(att, float("-inf")))
        return att.softmax(dim=-1).bmm(self.value(x))


class MultiHeadAttention(nn.Module):
    def __init__(self, n_embd, num_heads, block_size):
        super().__init__()
        head_size = n_embd // num_heads
        self.heads = nn.ModuleList([Head(n_embd, head_size, block_size) for _ in range(num_heads)])
        self.proj = nn.Linear(head_size * num_heads, n_embd)

    def forward(self, x):
        shares = self.proj.weight.chunk(len(self.heads), dim=1)
        return self.proj.bias + sum(head(x) @ share.T for head, share in zip(self.heads, shares))
