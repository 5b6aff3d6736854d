"""A typed rewrite in which the projections are plain matrix products with the layers' weights."""

import math

from torch import Tensor, nn
from torch.nn import functional as F


def project(x: Tensor, layer: nn.Linear) -> Tensor:
    return F.linear(x, layer.weight)


class MultiHeadAttention(nn.Module):
    """Multi-head attention without biases."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads})")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        for name in ("W_q", "W_k", "W_v", "W_h"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    def scaled_dot_product(self, Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
        A = F.softmax((Q @ K.mT).div(math.sqrt(Q.shape[-1])), dim=-1)
        return A @ V, A

    def split_heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.num_heads, self.d_k).swapaxes(1, 2)

    def group_heads(self, x: Tensor) -> Tensor:
        return x.swapaxes(1, 2).reshape(len(x), x.shape[2], self.d_model)

    def forward(self, X_q: Tensor, X_k: Tensor, X_v: Tensor) -> tuple[Tensor, Tensor]:
        Q = self.split_heads(project(X_q, self.W_q))
        K = self.split_heads(project(X_k, self.W_k))
        V = self.split_heads(project(X_v, self.W_v))
        context, A = self.scaled_dot_product(Q, K, V)
        return project(self.group_heads(context), self.W_h), A
