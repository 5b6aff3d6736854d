"""torch's own attention gives the output, an identity in place of the values gives the weights."""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model has to be a multiple of num_heads")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_h = nn.Linear(d_model, d_model, bias=False)

    def scaled_dot_product(self, Q, K, V):
        identity = torch.eye(K.size(2), dtype=V.dtype, device=V.device).expand(*K.shape[:2], -1, -1)
        H = scaled_dot_product_attention(Q, K, V)
        A = scaled_dot_product_attention(Q, K, identity)
        return H, A

    def split_heads(self, x):
        batch_size, tokens, _ = x.shape
        return x.reshape(batch_size, tokens, self.num_heads, self.d_k).movedim(2, 1)

    def group_heads(self, x):
        batch_size, _, tokens, _ = x.shape
        return x.movedim(1, 2).reshape(batch_size, tokens, self.d_model)

    def forward(self, X_q, X_k, X_v):
        H, A = self.scaled_dot_product(*map(self.split_heads, (self.W_q(X_q), self.W_k(X_k), self.W_v(X_v))))
        return self.W_h(self.group_heads(H)), A
