"""For each word, how much chance the likelier ones have together."""

import torch


def likely_words(logits, share=0.9, warmth=1.0):
    chances = torch.softmax(logits * (1.0 / warmth), dim=-1)
    likelier = chances[:, None, :] > chances[:, :, None]
    before = (likelier * chances[:, None, :]).sum(dim=2)
    left = torch.where(before < share, chances, 0.0)
    return left / left.sum(dim=1, keepdim=True)
