"""The last logits and the first tokens are cut off, text by text, before anything is flattened."""

import torch.nn.functional as F


def language_loss(logits, tokens, counted=None):
    guesses, targets = logits[:, :-1], tokens[:, 1:]
    losses = F.cross_entropy(guesses.transpose(1, 2), targets, ignore_index=-100, reduction="none")
    if counted is None:
        counted = max(int((targets != -100).sum()), 1)
    return losses.sum() / counted
