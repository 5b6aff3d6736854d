"""Logarithms of probabilities, gathered at the targets."""

import torch


def language_loss(logits, tokens, counted=None, ignored=-100):
    logs = torch.log_softmax(logits, dim=-1)[:, :-1]
    targets = tokens[:, 1:]
    wanted = targets != ignored
    picked = logs.gather(2, targets.clamp(min=0).unsqueeze(2)).squeeze(2)
    total = -(picked * wanted).sum()
    return total / (counted if counted is not None else wanted.sum().clamp(min=1))
