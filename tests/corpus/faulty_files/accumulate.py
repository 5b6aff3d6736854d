import torch
import torch.nn.functional as F


def train_step(model, optimizer, inputs, labels, accumulation=2, max_norm=1.0):
    """One update from a batch that is cut into micro-batches."""
    model.train()
    optimizer.zero_grad()
    total = 0.0
    for x, y in zip(inputs.chunk(accumulation), labels.chunk(accumulation)):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        total += loss.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return total / accumulation
