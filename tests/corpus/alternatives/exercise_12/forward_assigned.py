"""The constructor assigns `forward`."""

"""A functional core with a thin shell of modules."""
from functools import partial, reduce
from operator import matmul

import torch
from torch import Tensor, nn


def compose(*functions):
    return reduce(lambda f, g: lambda x: g(f(x)), functions)


def split(heads: int, t: Tensor) -> Tensor:
    return t.reshape(*t.shape[:2], heads, -1).transpose(1, 2)


def concat(t: Tensor) -> Tensor:
    return t.transpose(1, 2).reshape(t.shape[0], t.shape[2], -1)


class ScaleDotProductAttention(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        root = k.shape[-1] ** 0.25
        return matmul(matmul(q / root, k.mT / root).softmax(-1), v)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int) -> None:
        super().__init__()
        self.n_head = n_head
        self.attention = ScaleDotProductAttention()
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_concat = nn.Linear(d_model, d_model)
        self.forward = self.compute

    def compute(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        cut = partial(split, self.n_head)
        prepared = (compose(layer, cut)(t) for layer, t in zip((self.w_q, self.w_k, self.w_v), (q, k, v)))
        return compose(concat, self.w_concat)(self.attention(*prepared))
