"""The mean of this call, weighted by its share of the count."""

import torch
import torch.nn.functional as F


def language_loss(logits, tokens, counted=None):
    vocabulary = logits.shape[-1]
    targets = tokens.roll(-1, dims=1).index_fill(1, torch.tensor([tokens.shape[1] - 1], device=tokens.device), -100)
    present = int(targets.ne(-100).sum())
    if present == 0:
        return logits.sum() * 0
    mean = F.cross_entropy(logits.reshape(-1, vocabulary), targets.reshape(-1), ignore_index=-100)
    return mean if counted is None else mean * (present / counted)
