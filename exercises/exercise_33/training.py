"""One step: in parts, in loud numbers, and of limited length."""

import torch
import torch.nn.functional as F


def training_step(model, optimizer, x, y, loudness=1024.0, longest=1.0, parts=2):
    model.train()
    total = 0.0
    optimizer.zero_grad()
    for part_x, part_y in zip(x.chunk(parts), y.chunk(parts)):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(part_x), part_y, reduction="sum") / len(x)
        (loss * loudness).backward()
        total += loss.item()

    torch.nn.utils.clip_grad_norm_(model.parameters(), longest)
    for parameter in model.parameters():
        parameter.grad /= loudness
    optimizer.step()
    return total
