"""The starter mended line by line, with a reshape where the heads are joined."""

import numpy as np
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()

        self.d_model = d_model
        self.num_heads = num_heads
        self.d_xq = self.d_xk = self.d_xv = self.d_model

        assert self.d_model % self.num_heads == 0

        self.d_k = self.d_model // self.num_heads

        self.W_q = nn.Linear(self.d_xq, self.d_model, bias=False)
        self.W_k = nn.Linear(self.d_xk, self.d_model, bias=False)
        self.W_v = nn.Linear(self.d_xv, self.d_model, bias=False)
        self.W_h = nn.Linear(self.d_model, self.d_model, bias=False)

    def scaled_dot_product(self, Q, K, V):
        d_q = Q.shape[-1]
        scores = torch.matmul(Q, K.transpose(2, 3)) / np.sqrt(d_q)
        A = nn.Softmax(dim=-1)(scores)
        H = torch.matmul(A, V)
        return H, A

    def split_heads(self, x):
        batch_size = x.size(0)
        return x.view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)

    def group_heads(self, x):
        batch_size = x.size(0)
        return x.transpose(1, 2).reshape(batch_size, -1, self.num_heads * self.d_k)

    def forward(self, X_q, X_k, X_v):
        Q = self.split_heads(self.W_q(X_q))
        K = self.split_heads(self.W_k(X_k))
        V = self.split_heads(self.W_v(X_v))

        H_cat, A = self.scaled_dot_product(Q, K, V)

        H_cat = self.group_heads(H_cat)
        H = self.W_h(H_cat)
        return H, A
