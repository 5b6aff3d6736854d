"""The weight from before is kept, and put back."""

import torch
from torch import nn
import torch.nn.functional as F


class AdaptedLinear(nn.Module):
    def __init__(self, n_in, n_out, rank, alpha, dropout=0.0):
        super().__init__()
        self.scale, self.p = alpha / rank, dropout
        self.base = nn.Linear(n_in, n_out)
        for parameter in self.base.parameters():
            parameter.requires_grad = False
        self.down = nn.Linear(n_in, rank, bias=False)
        self.up = nn.Linear(rank, n_out, bias=False)
        self.before = None

    @property
    def folded(self):
        return self.before is not None

    def forward(self, x):
        out = F.linear(x, self.base.weight, self.base.bias)
        if not self.folded:
            kept = F.dropout(x, p=self.p, training=self.training)
            out = out + F.linear(F.linear(kept, self.down.weight), self.up.weight).mul(self.scale)
        return out

    @torch.no_grad()
    def fold(self):
        if self.before is None:
            self.before = self.base.weight.clone()
            self.base.weight.copy_(self.before + self.scale * self.up.weight.mm(self.down.weight))

    @torch.no_grad()
    def unfold(self):
        if self.before is not None:
            self.base.weight.copy_(self.before)
            self.before = None
