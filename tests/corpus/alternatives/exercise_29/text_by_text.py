"""One text after the other."""

import torch.nn as nn

criterion = nn.CrossEntropyLoss(ignore_index=-100, reduction="sum")


def language_loss(logits, tokens, counted=None):
    total, present = 0.0 * logits.sum(), 0
    for scores, text in zip(logits, tokens):
        total = total + criterion(scores[:-1], text[1:])
        present += int((text[1:] != -100).sum())
    if counted is None:
        counted = present or 1
    return total / counted
