"""Training, evaluation and folded each have a branch."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class AdaptedLinear(nn.Module):
    def __init__(self, n_in, n_out, rank, alpha, dropout=0.0):
        super().__init__()
        self.scale = alpha / rank
        self.chance = dropout
        self.base = nn.Linear(n_in, n_out)
        self.base.requires_grad_(False)
        self.down = nn.Linear(n_in, rank, bias=False)
        self.up = nn.Linear(rank, n_out, bias=False)
        self.folded = False

    def delta(self):
        return torch.matmul(self.up.weight, self.down.weight).mul(self.scale)

    def forward(self, x):
        if self.folded:
            return self.base(x)
        if self.training and self.chance:
            return self.base(x) + F.linear(F.dropout(x, self.chance), self.delta())
        return F.linear(x, self.base.weight + self.delta(), self.base.bias)

    def fold(self):
        with torch.no_grad():
            if not self.folded:
                self.base.weight.add_(self.delta())
                self.folded = True

    def unfold(self):
        with torch.no_grad():
            if self.folded:
                self.base.weight.sub_(self.delta())
                self.folded = False
