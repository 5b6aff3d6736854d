"""Products as einsums, and axes moved with permute, flatten and unflatten."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_k, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features")
        self.d_model = d_model
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_h = nn.Linear(d_model, d_model, bias=False)

    def scaled_dot_product(self, Q, K, V):
        scores = torch.einsum("bhqs,bhks->bhqk", Q, K) * Q.size(-1) ** -0.5
        A = scores.softmax(dim=-1)
        return torch.einsum("bhqk,bhks->bhqs", A, V), A

    def split_heads(self, x):
        return x.unflatten(-1, (self.num_heads, self.d_k)).permute(0, 2, 1, 3)

    def group_heads(self, x):
        return x.permute(0, 2, 1, 3).flatten(2)

    def forward(self, X_q, X_k, X_v):
        H, A = self.scaled_dot_product(
            self.split_heads(self.W_q(X_q)), self.split_heads(self.W_k(X_k)), self.split_heads(self.W_v(X_v))
        )
        return self.W_h(self.group_heads(H)), A
