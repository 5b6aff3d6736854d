"""The factor is multiplied into one of the two small matrices, on both paths."""

import torch
from torch import einsum, nn


class AdaptedLinear(nn.Module):
    def __init__(self, n_in, n_out, rank, alpha, dropout=0.0):
        super().__init__()
        self.base = nn.Linear(n_in, n_out)
        self.base.requires_grad_(False)
        self.down = nn.Linear(n_in, rank, bias=False)
        self.up = nn.Linear(rank, n_out, bias=False)
        self.alpha = alpha
        self.dropout = nn.Dropout(dropout)
        self.folded = False

    def scaled_up(self):
        return self.up.weight * self.alpha / self.down.out_features

    def forward(self, x):
        result = self.base(x)
        if self.folded:
            return result
        return result + einsum("bi,ri,or->bo", self.dropout(x), self.down.weight, self.scaled_up())

    def fold(self):
        if not self.folded:
            self.base.weight.data = self.base.weight.data + (self.scaled_up() @ self.down.weight).detach()
        self.folded = True

    def unfold(self):
        if self.folded:
            self.base.weight.data = self.base.weight.data - (self.scaled_up() @ self.down.weight).detach()
        self.folded = False
