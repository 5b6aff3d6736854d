"""The least likely kept word gives a threshold."""

import torch


def likely_words(logits, share=0.9, warmth=1.0):
    chances = (logits / warmth).softmax(-1)
    ranked = chances.detach().sort(dim=-1, descending=True).values
    needed = ((ranked.cumsum(-1) - ranked) < share).sum(-1, keepdim=True)
    threshold = ranked.gather(-1, needed - 1)
    left = chances * (chances >= threshold)
    return left / left.sum(-1, keepdim=True)
