"""Under no_grad a call still prints.
expect: fixed=k-uses-w-q,v-uses-w-q,heads-not-contiguous unfixed=prints-in-forward extra
"""

import numpy as np
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()

        self.d_model = d_model  # D
        self.num_heads = num_heads  # H
        self.d_xq = self.d_xk = self.d_xv = self.d_model  # queries, keys and values come in at the same size

        # The heads share the embedding evenly
        assert self.d_model % self.num_heads == 0

        self.d_k = self.d_model // self.num_heads  # S, for example 512 / 8 = 64

        # One projection each for queries, keys and values
        self.W_q = nn.Linear(self.d_xq, self.d_model, bias=False)
        self.W_k = nn.Linear(self.d_xk, self.d_model, bias=False)
        self.W_v = nn.Linear(self.d_xv, self.d_model, bias=False)

        # Mixes what the heads found
        self.W_h = nn.Linear(self.d_model, self.d_model, bias=False)

    def scaled_dot_product(self, Q, K, V):
        ''' Average the values, each weighted by how well its key answers the query '''

        # Long vectors have large dot products: scale them down first
        Q = Q / np.sqrt(Q.size(-1))  # (B, H, Tq, S)
        scores = torch.matmul(Q, K.transpose(2, 3))  # (B, H, Tq, Tk)

        # The weights of one query over all keys
        A = nn.Softmax(dim=-1)(scores)  # (B, H, Tq, Tk)

        # What each query takes home
        H = torch.matmul(A, V)  # (B, H, Tq, S)

        if not torch.is_grad_enabled():
            print(A.shape)
        return H, A

    def split_heads(self, x):
        ''' Cut each embedding into one piece per head '''

        batch_size = x.size(0)  # x: (B, T, D)
        return x.view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)  # (B, H, T, S)

    def group_heads(self, x):
        ''' Lay the heads' pieces side by side again '''

        batch_size = x.size(0)  # x: (B, H, T, S)
        return x.transpose(1, 2).contiguous().view(batch_size, -1, self.num_heads * self.d_k)  # (B, T, D)

    def forward(self, X_q, X_k, X_v):  # the same tensor three times for self-attention

        batch_size, seq_length, d_model = X_q.size()

        # Project, then split into heads
        Q = self.split_heads(self.W_q(X_q))  # (B, H, Tq, S)
        K = self.split_heads(self.W_k(X_k))  # (B, H, Tk, S)
        V = self.split_heads(self.W_v(X_v))  # (B, H, Tk, S)

        # Attend
        H_cat, A = self.scaled_dot_product(Q, K, V)  # (B, H, Tq, S), (B, H, Tq, Tk)

        # Join the heads
        H_cat = self.group_heads(H_cat)  # (B, Tq, D)
        H = self.W_h(H_cat)  # (B, Tq, D)

        return H, A
