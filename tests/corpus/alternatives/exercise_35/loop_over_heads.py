"""Head after head."""

import torch
import torch.nn as nn


class BackwardLook(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width)

    def forward(self, x, real):
        parts = [z.chunk(self.heads, dim=-1) for z in self.qkv(x).chunk(3, dim=-1)]
        shown = real[:, None, :] & torch.ones(x.size(1), x.size(1), device=x.device).tril().bool()
        out = []
        for q, k, v in zip(*parts):
            scores = torch.bmm(q, k.transpose(1, 2)) * q.size(-1) ** -0.5
            scores = torch.where(shown, scores, torch.finfo(scores.dtype).min)
            out.append(torch.bmm(torch.softmax(scores, dim=-1), v))
        return self.proj(torch.cat(out, dim=-1))
