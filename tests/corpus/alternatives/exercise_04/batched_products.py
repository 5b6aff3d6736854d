"""Samples and heads share one axis for torch.bmm, and keys are scaled rather than queries."""

import numpy as np
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model = d_model
        self.num_heads = num_heads
        assert d_model % num_heads == 0
        self.d_k = int(d_model / num_heads)
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_h = nn.Linear(d_model, d_model, bias=False)
        self.softmax = nn.Softmax(dim=-1)

    def scaled_dot_product(self, Q, K, V):
        batch_size, heads, n_queries, size = Q.shape
        n_keys = K.size(2)
        q = Q.reshape(batch_size * heads, n_queries, size)
        k = K.reshape(batch_size * heads, n_keys, size) / np.sqrt(size)
        v = V.reshape(batch_size * heads, n_keys, -1)
        a = self.softmax(torch.bmm(q, k.transpose(1, 2)))
        h = torch.bmm(a, v)
        return h.view(batch_size, heads, n_queries, -1), a.view(batch_size, heads, n_queries, n_keys)

    def split_heads(self, x):
        batch_size, n_tokens = x.shape[:2]
        return x.view(batch_size, n_tokens, self.num_heads, self.d_k).transpose(1, 2).contiguous()

    def group_heads(self, x):
        x = x.transpose(1, 2).contiguous()
        return x.view(x.size(0), x.size(1), -1)

    def forward(self, X_q, X_k, X_v):
        Q = self.split_heads(self.W_q(X_q))
        K = self.split_heads(self.W_k(X_k))
        V = self.split_heads(self.W_v(X_v))
        H, A = self.scaled_dot_product(Q, K, V)
        return self.W_h(self.group_heads(H)), A
