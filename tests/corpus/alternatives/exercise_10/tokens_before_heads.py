"""Heads are moved to the front; what may be seen is a lower triangle."""

import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, emb: int, heads: int = 8, mask: bool = False) -> None:
        super().__init__()
        if emb % heads != 0:
            raise ValueError("the heads must share the embedding evenly")
        self.shape = (heads, emb // heads)
        self.mask = mask
        self.tokeys = nn.Linear(emb, emb, bias=False)
        self.toqueries = nn.Linear(emb, emb, bias=False)
        self.tovalues = nn.Linear(emb, emb, bias=False)
        self.unifyheads = nn.Linear(emb, emb)

    def heads_first(self, z: torch.Tensor) -> torch.Tensor:
        return z.unflatten(-1, self.shape).movedim(2, 0)  # (heads, batch, tokens, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = map(self.heads_first, (self.toqueries(x), self.tokeys(x), self.tovalues(x)))
        scores = torch.matmul(q, k.transpose(2, 3)) * self.shape[1] ** -0.5
        if self.mask:
            visible = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).tril()
            scores = torch.where(visible, scores, torch.finfo(scores.dtype).min)
        out = torch.softmax(scores, dim=-1) @ v
        return self.unifyheads(out.movedim(0, 2).flatten(2))
