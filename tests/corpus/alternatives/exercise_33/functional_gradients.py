"""Gradients as values, added up in a list and handed to the parameters at the end."""

import torch
import torch.nn.functional as F


def training_step(model, optimizer, x, y, loudness=1024.0, longest=1.0, parts=2):
    model.train()
    learned = list(model.parameters())
    sums = [torch.zeros_like(each) for each in learned]
    returned = 0.0
    for a, b in zip(x.chunk(parts), y.chunk(parts)):
        loss = F.nll_loss(model(a).log_softmax(-1), b, reduction="sum") / x.size(0)
        for whole, piece in zip(sums, torch.autograd.grad(loss * loudness, learned)):
            whole += piece / loudness
        returned += float(loss)
    for each, gradient in zip(learned, sums):
        each.grad = gradient
    torch.nn.utils.clip_grad_norm_(learned, longest)
    optimizer.step()
    return returned
