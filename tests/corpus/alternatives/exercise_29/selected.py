"""Only places that have a target are looked at at all."""

import torch
import torch.nn.functional as F


def language_loss(logits, tokens, counted=None):
    targets = torch.full_like(tokens, -100)
    targets[:, :-1] = tokens[:, 1:]
    chosen = targets >= 0
    if counted is None:
        counted = max(1, int(chosen.sum()))
    return F.cross_entropy(logits[chosen], targets[chosen], reduction="sum") / counted
