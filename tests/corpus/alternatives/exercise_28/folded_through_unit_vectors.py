"""What the small path makes of the unit vectors is its matrix."""

import torch
from torch import nn


class AdaptedLinear(nn.Module):
    def __init__(self, n_in: int, n_out: int, rank: int, alpha: float, dropout: float = 0.0) -> None:
        super().__init__()
        self.factor = alpha / rank
        self.dropout = nn.Dropout(p=dropout)
        self.base = nn.Linear(n_in, n_out)
        self.base.weight.requires_grad_(False)
        self.base.bias.requires_grad_(False)
        self.down = nn.Linear(n_in, rank, bias=False)
        self.up = nn.Linear(rank, n_out, bias=False)
        self.folded = False

    def adapt(self, x):
        return self.factor * self.up(self.down(x))

    def forward(self, x):
        return self.base(x) if self.folded else self.base(x) + self.adapt(self.dropout(x))

    @torch.no_grad()
    def _move(self, to_folded, sign):
        if self.folded is not to_folded:
            unit = torch.eye(self.base.in_features, dtype=self.base.weight.dtype, device=self.base.weight.device)
            self.base.weight.add_(self.adapt(unit).T, alpha=sign)
            self.folded = to_folded

    def fold(self):
        self._move(True, 1)

    def unfold(self):
        self._move(False, -1)
