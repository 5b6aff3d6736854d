"""One-hot targets, and a product."""

import torch
import torch.nn.functional as F


def language_loss(logits, tokens, counted=None):
    after = tokens[:, 1:]
    known = (after != -100).to(logits.dtype)
    wanted = F.one_hot(after.clamp(min=0), logits.size(2)).to(logits.dtype) * known[..., None]
    logs = logits[:, :-1] - logits[:, :-1].logsumexp(dim=2, keepdim=True)
    total = -torch.sum(wanted * logs)
    number = known.sum().clamp(min=1.0) if counted is None else counted
    return total / number
