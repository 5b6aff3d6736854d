"""A plain function does the attention; the axes are turned by permute and swapaxes."""

import torch
from torch import Tensor, nn


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q.matmul(k.swapaxes(-1, -2))
    return scores.mul(k.size(-1) ** -0.5).softmax(dim=-1).matmul(v)


class ScaleDotProductAttention(nn.Module):
    def forward(self, q, k, v):
        return attend(q, k, v)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.heads = (n_head, d_model // n_head)
        self.attention = ScaleDotProductAttention()
        for name in ("w_q", "w_k", "w_v"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))
        self.w_concat = nn.Linear(d_model, d_model, bias=True)

    def forward(self, q, k, v):
        apart = [layer(z).reshape(*z.shape[:2], *self.heads).swapaxes(1, 2)
                 for layer, z in zip((self.w_q, self.w_k, self.w_v), (q, k, v))]
        together = attend(*apart).permute(0, 2, 1, 3).contiguous()
        return self.w_concat(together.view(together.shape[0], together.shape[1], -1))
