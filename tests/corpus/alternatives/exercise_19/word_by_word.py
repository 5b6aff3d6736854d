"""Every word is a call of its own, so nothing has to be masked."""

import torch
import torch.nn as nn


class RememberingAttention(nn.Module):
    def __init__(self, d_model, n_heads, max_len):
        super().__init__()
        self.n_heads = n_heads
        self.positions = nn.Embedding(max_len, d_model)
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model)
        self.old = []

    @property
    def offset(self):
        return len(self.old)

    def forward(self, x, more=False):
        known = list(self.old) if more else []
        outputs = []
        for word in x.unbind(1):
            place = self.positions.weight[len(known)]
            q, k, v = self.qkv(word + place).unflatten(-1, (3, self.n_heads, -1)).unbind(1)
            known.append((k, v))
            keys, values = (torch.stack(part, dim=2) for part in zip(*known))  # batch, heads, words, size
            weights = torch.softmax((q.unsqueeze(2) * keys).sum(-1) / q.size(-1) ** 0.5, dim=-1)
            outputs.append((weights.unsqueeze(-1) * values).sum(2).flatten(1))
        self.old = [(k.detach(), v.detach()) for k, v in known]
        return self.out(torch.stack(outputs, dim=1))
