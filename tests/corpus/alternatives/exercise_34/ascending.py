"""From the least likely on: what can go without reaching the rest of the chance goes."""

import torch


def likely_words(logits, share=0.9, warmth=1.0):
    chances = torch.softmax(logits / warmth, dim=-1)
    order = torch.argsort(chances, dim=-1)
    ranked = torch.gather(chances, -1, order)
    above = ranked.flip(-1).cumsum(-1).flip(-1) - ranked
    place = torch.argsort(order, dim=-1)
    kept = (above < share).gather(-1, place)
    return chances * kept / (chances * kept).sum(-1, keepdim=True)
