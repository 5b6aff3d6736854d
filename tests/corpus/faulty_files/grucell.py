import torch
from torch import nn


class GRUCell(nn.Module):
    """One step of a gated recurrent unit."""

    def __init__(self, input_size, hidden_size, bias=True):
        super().__init__()
        self.hidden_size = hidden_size
        self.x2h = nn.Linear(input_size, 3 * hidden_size, bias=bias)
        self.h2h = nn.Linear(hidden_size, 3 * hidden_size, bias=bias)

    def forward(self, x, h=None):
        if h is None:
            h = x.new_zeros(x.size(0), self.hidden_size)
        x_r, x_z, x_n = self.x2h(x).chunk(3, dim=-1)
        h_r, h_z, h_n = self.h2h(h).chunk(3, dim=-1)
        r = torch.sigmoid(x_r + h_r)
        z = torch.sigmoid(x_z + h_z)
        n = torch.tanh(x_n + r * h_n)
        return z * n + (1 - z) * h
