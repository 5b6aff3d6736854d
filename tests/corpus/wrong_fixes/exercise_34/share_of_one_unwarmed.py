"""With a share of one there is nothing to choose, and the warmth is forgotten.
expect: broken
"""

import torch


def likely_words(logits, share=0.9, warmth=1.0):
    if share >= 1:
        return torch.softmax(logits, dim=-1)
    chances = torch.softmax(logits / warmth, dim=-1)

    # likeliest first
    order = chances.argsort(dim=-1, descending=True)
    ranked = chances.gather(-1, order)
    together = ranked.cumsum(dim=-1)
    kept = together - ranked < share

    # back to the words' own places
    kept = kept.gather(-1, order.argsort(dim=-1))
    chances = chances.masked_fill(~kept, 0.0)
    return chances / chances.sum(dim=-1, keepdim=True)
