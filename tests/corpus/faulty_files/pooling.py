"""Sentence vectors from token vectors."""

import torch


def masked_mean_pool(hidden, mask, eps=1e-9):
    """Mean over the tokens that count.

    hidden: (batch, tokens, width)
    mask: (batch, tokens)
    """
    mask = mask.unsqueeze(-1).to(hidden.dtype)
    summed = (hidden * mask).sum(dim=1)
    counts = mask.shape[1]
    return summed / max(counts, eps)
