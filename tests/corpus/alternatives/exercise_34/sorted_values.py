"""torch.sort gives values and indices; the borders are moved by one place."""

import torch
import torch.nn.functional as F


def likely_words(logits, share=0.9, warmth=1.0):
    probs = F.softmax(logits / warmth, dim=-1)
    values, index = torch.sort(probs, dim=-1, descending=True)
    dropped = torch.cumsum(values, dim=-1) >= share
    dropped = torch.cat([torch.zeros_like(dropped[..., :1]), dropped[..., :-1]], dim=-1)
    values = torch.where(dropped, torch.zeros_like(values), values)
    values = values / values.sum(-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, index, values)
