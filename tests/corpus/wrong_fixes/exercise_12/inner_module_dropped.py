"""The inner attention is no part of the module any more.
expect: fixed=heads-split-by-view,keys-turned-by-reshape,heads-merged-by-reshape broken
"""

import math

import torch
from torch import nn


class ScaleDotProductAttention(nn.Module):
    """
    Query : given sentence that we focus on (decoder)
    Key   : every sentence to check the relation with the query (encoder)
    Value : the same sentence as the key
    """

    def forward(self, q, k, v):
        # 4 axes: batch, head, length, d_tensor
        batch_size, head, length, d_tensor = k.size()

        # 1. similarity of each query to each key
        k_t = k.transpose(2, 3)
        score = (q @ k_t) / math.sqrt(d_tensor)

        # 2. to the range [0, 1]
        score = torch.softmax(score, dim=-1)

        # 3. what the values say
        return score @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_concat = nn.Linear(d_model, d_model)

    def forward(self, q, k, v):
        q, k, v = self.split(self.w_q(q)), self.split(self.w_k(k)), self.split(self.w_v(v))
        out = ScaleDotProductAttention()(q, k, v)
        return self.w_concat(self.concat(out))

    def split(self, tensor):
        """[batch, length, d_model] -> [batch, head, length, d_tensor]"""
        batch_size, length, d_model = tensor.size()
        return tensor.view(batch_size, length, self.n_head, d_model // self.n_head).transpose(1, 2)

    def concat(self, tensor):
        """[batch, head, length, d_tensor] -> [batch, length, d_model]"""
        batch_size, head, length, d_tensor = tensor.size()
        return tensor.transpose(1, 2).reshape(batch_size, length, head * d_tensor)
