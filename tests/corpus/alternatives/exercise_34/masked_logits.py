"""Words that go get a logit of minus infinity before a second softmax."""

import torch


def likely_words(logits, share=0.9, warmth=1.0):
    warmed = logits / warmth
    sorted_logits, order = warmed.sort(dim=-1, descending=True)
    chances = sorted_logits.softmax(dim=-1)
    goes = chances.cumsum(dim=-1) - chances >= share
    goes = goes.scatter(-1, order, goes)
    return warmed.masked_fill(goes, float("-inf")).softmax(dim=-1)
