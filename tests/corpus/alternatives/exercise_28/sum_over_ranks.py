"""One rank after the other, as outer products."""

import torch
import torch.nn as nn


class AdaptedLinear(nn.Module):
    def __init__(self, n_in, n_out, rank, alpha, dropout=0.0):
        super().__init__()
        self.rank, self.alpha = rank, alpha
        self.base = nn.Linear(n_in, n_out)
        self.base.requires_grad_(False)
        self.down = nn.Linear(n_in, rank, bias=False)
        self.up = nn.Linear(rank, n_out, bias=False)
        self.drop = nn.Dropout(dropout)
        self.folded = False

    def matrix(self):
        terms = [torch.outer(self.up.weight[:, r], self.down.weight[r]) for r in range(self.rank)]
        return torch.stack(terms).sum(0) * self.alpha / self.rank

    def forward(self, x):
        y = self.base(x)
        return y if self.folded else y + self.drop(x) @ self.matrix().T

    @torch.no_grad()
    def fold(self):
        if self.folded is False:
            self.base.weight.copy_(self.base.weight + self.matrix())
            self.folded = True

    @torch.no_grad()
    def unfold(self):
        if self.folded is True:
            self.base.weight.copy_(self.base.weight - self.matrix())
            self.folded = False
