"""The softmax is written out, and scores come from a broadcast product and a sum."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0, f"{d_model} % {num_heads} is not 0"
        self.num_heads = num_heads
        self.d_model = d_model
        self.d_k = d_model // num_heads
        self.W_h = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_q = nn.Linear(d_model, d_model, bias=False)

    def scaled_dot_product(self, Q, K, V):
        scores = (Q.unsqueeze(3) * K.unsqueeze(2)).sum(dim=-1) / Q.size(-1) ** 0.5
        odds = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
        A = odds / odds.sum(dim=-1, keepdim=True)
        H = (A.unsqueeze(-1) * V.unsqueeze(2)).sum(dim=3)
        return H, A

    def split_heads(self, x):
        return torch.stack(x.split(self.d_k, dim=-1), dim=1)

    def group_heads(self, x):
        return torch.cat(x.unbind(dim=1), dim=-1)

    def forward(self, X_q, X_k, X_v):
        H, A = self.scaled_dot_product(
            self.split_heads(self.W_q(X_q)),
            self.split_heads(self.W_k(X_k)),
            self.split_heads(self.W_v(X_v)),
        )
        return self.W_h(self.group_heads(H)), A
