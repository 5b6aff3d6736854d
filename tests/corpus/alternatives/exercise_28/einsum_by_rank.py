"""One rank after the other, by einsum, and dropout by hand."""

import torch
import torch.nn as nn


class AdaptedLinear(nn.Module):
    def __init__(self, n_in, n_out, rank, alpha, dropout=0.0):
        super().__init__()
        self.base = nn.Linear(n_in, n_out).requires_grad_(False)
        self.down = nn.Linear(n_in, rank, bias=False)
        self.up = nn.Linear(rank, n_out, bias=False)
        self.factor, self.rate, self.folded = alpha / rank, dropout, False

    def forward(self, x):
        out = torch.einsum("bi,oi->bo", x, self.base.weight) + self.base.bias
        if not self.folded:
            side = x
            if self.training and self.rate > 0:
                dropped = torch.rand_like(x) < self.rate
                side = x.masked_fill(dropped, 0)
                if self.rate < 1:
                    side = side / (1 - self.rate)
            out = out + torch.einsum("bi,ri,or->bo", side, self.down.weight, self.up.weight) * self.factor
        return out

    def fold(self):
        if not self.folded:
            self._add(self.factor)
        self.folded = True

    def unfold(self):
        if self.folded:
            self._add(-self.factor)
        self.folded = False

    def _add(self, factor):
        for column, row in zip(self.up.weight.detach().T, self.down.weight.detach()):
            self.base.weight.data.add_(torch.outer(column, row), alpha=factor)
