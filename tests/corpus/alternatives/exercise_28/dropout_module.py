"""An nn.Dropout, and addmm for the fold."""

import torch
from torch import nn


class AdaptedLinear(nn.Module):
    def __init__(self, n_in, n_out, rank, alpha, dropout=0.0):
        super().__init__()
        self.alpha, self.rank = alpha, rank
        self.base = nn.Linear(n_in, n_out).requires_grad_(False)
        self.down = nn.Linear(n_in, rank, bias=False)
        self.up = nn.Linear(rank, n_out, bias=False)
        self.drop = nn.Dropout(dropout)
        self.folded = False

    def forward(self, x):
        if self.folded:
            return self.base(x)
        return self.base(x) + self.up(self.down(self.drop(x))) * (self.alpha / self.rank)

    def _add(self, sign):
        with torch.no_grad():
            self.base.weight.addmm_(self.up.weight, self.down.weight, alpha=sign * self.alpha / self.rank)

    def fold(self):
        if self.folded:
            return
        self._add(1.0)
        self.folded = True

    def unfold(self):
        if not self.folded:
            return
        self._add(-1.0)
        self.folded = False
