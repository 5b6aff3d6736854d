"""Heads are cut out with slices and attended to one by one; joining them is a torch.cat."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0, "d_model must be divisible by num_heads"
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_h = nn.Linear(d_model, d_model, bias=False)

    def scaled_dot_product(self, Q, K, V):
        outputs, weights = [], []
        for h in range(Q.size(1)):
            a = F.softmax(torch.bmm(Q[:, h], K[:, h].transpose(1, 2)) / math.sqrt(Q.size(-1)), dim=-1)
            weights.append(a)
            outputs.append(torch.bmm(a, V[:, h]))
        return torch.stack(outputs, dim=1), torch.stack(weights, dim=1)

    def split_heads(self, x):
        pieces = [x[:, :, h * self.d_k:(h + 1) * self.d_k] for h in range(self.num_heads)]
        return torch.stack(pieces, dim=1)

    def group_heads(self, x):
        return torch.cat([x[:, h] for h in range(self.num_heads)], dim=-1)

    def forward(self, X_q, X_k, X_v):
        Q = self.split_heads(self.W_q(X_q))
        K = self.split_heads(self.W_k(X_k))
        V = self.split_heads(self.W_v(X_v))
        heads, A = self.scaled_dot_product(Q, K, V)
        return self.W_h(self.group_heads(heads)), A
