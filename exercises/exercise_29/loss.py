"""The loss of a language model that is trained in micro-batches."""

import torch.nn.functional as F

NOT_COUNTED = -100


def next_tokens(tokens):
    """What comes after each place of a text; nothing after the last."""
    return F.pad(tokens[:, 1:], (0, 1), value=NOT_COUNTED)


def language_loss(logits, tokens, counted=None):
    # (text, place, vocabulary), (text, place) -> one row a place
    scores = logits.flatten(0, 1)
    targets = next_tokens(tokens).flatten()

    total = F.cross_entropy(scores[:-1], targets[1:], ignore_index=NOT_COUNTED, reduction="sum")
    present = (targets != NOT_COUNTED).sum().clamp(min=1)
    return total / present
