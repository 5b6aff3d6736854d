"""The number of heads is taken for their size.
expect: unfixed=scale-of-the-embedding
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def hide_later_(dot):
    """Takes from each token, in place, what it must not see. dot: (b * h, t, t)"""
    t = dot.size(-1)
    rows, columns = torch.triu_indices(t, t, offset=1)
    dot[..., rows, columns] = float('-inf')


class SelfAttention(nn.Module):
    def __init__(self, emb, heads=8, mask=False):
        super().__init__()
        assert emb % heads == 0, f'{heads} heads cannot share {emb} features'

        self.heads = heads
        self.mask = mask

        self.tokeys = nn.Linear(emb, emb, bias=False)
        self.toqueries = nn.Linear(emb, emb, bias=False)
        self.tovalues = nn.Linear(emb, emb, bias=False)
        self.unifyheads = nn.Linear(emb, emb)

    def forward(self, x):
        b, t, e = x.size()
        h = self.heads
        s = e // h

        def fold(z):
            return z.view(b, t, h, s).transpose(1, 2).reshape(b * h, t, s)

        keys = fold(self.tokeys(x))
        queries = fold(self.toqueries(x))
        values = fold(self.tovalues(x))

        # Scaling both before the product needs less room than scaling the product
        queries = queries / (h ** (1 / 4))
        keys = keys / (h ** (1 / 4))

        dot = torch.bmm(queries, keys.transpose(1, 2))  # (b * h, t, t)
        if self.mask:
            hide_later_(dot)
        dot = F.softmax(dot, dim=2)

        out = torch.bmm(dot, values).view(b, h, t, s)
        out = out.transpose(1, 2).reshape(b, t, h * s)
        return self.unifyheads(out)
