"""Chances are warmed after the softmax, where the smallest are zero.
expect: 
"""

import torch


def likely_words(logits, share=0.9, warmth=1.0):
    chances = torch.softmax(logits, dim=-1) ** (1.0 / warmth)
    chances = chances / chances.sum(dim=-1, keepdim=True)

    # likeliest first
    order = chances.argsort(dim=-1, descending=True)
    ranked = chances.gather(-1, order)
    together = ranked.cumsum(dim=-1)
    kept = together - ranked < share

    # back to the words' own places
    kept = kept.gather(-1, order.argsort(dim=-1))
    chances = chances.masked_fill(~kept, 0.0)
    return chances / chances.sum(dim=-1, keepdim=True)
