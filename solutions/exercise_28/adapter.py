"""A linear layer with a small one beside it, which can be folded in."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class AdaptedLinear(nn.Module):
    def __init__(self, n_in, n_out, rank, alpha, dropout=0.0):
        super().__init__()
        self.scale = alpha / rank
        self.dropout = dropout
        self.folded = False
        self.base = nn.Linear(n_in, n_out)
        self.base.requires_grad_(False)
        self.down = nn.Linear(n_in, rank, bias=False)
        self.up = nn.Linear(rank, n_out, bias=False)

    def forward(self, x):
        y = self.base(x)
        if self.folded:
            return y
        x = F.dropout(x, self.dropout, self.training)
        return y + self.scale * self.up(self.down(x))

    def change(self):
        """What the small layers add to the big one's weight."""
        return self.scale * (self.up.weight @ self.down.weight)

    @torch.no_grad()
    def fold(self):
        if not self.folded:
            self.base.weight += self.change()
            self.folded = True

    @torch.no_grad()
    def unfold(self):
        if self.folded:
            self.base.weight -= self.change()
            self.folded = False
