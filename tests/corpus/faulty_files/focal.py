import torch
import torch.nn.functional as F


def focal_loss(logits, targets, gamma=2.0, alpha=None, reduction="mean"):
    """Focal loss. logits: (batch, classes), targets: (batch,)"""
    logp = F.log_softmax(logits, dim=-1)
    logpt = logp.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    pt = logpt.exp()
    loss = -((1 + pt) ** gamma) * logpt
    if alpha is not None:
        loss = alpha * loss
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    return loss
