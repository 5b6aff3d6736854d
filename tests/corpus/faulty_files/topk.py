"""Sampling helpers."""

import torch


def top_k_filter(logits, top_k=3, filter_value=float("-inf")):
    """Keep the k largest logits of each row and set the others to filter_value."""
    if top_k <= 0:
        return logits
    top_k = min(top_k, logits.size(-1))
    threshold = torch.topk(logits, top_k, dim=-1).values[..., 0, None]
    return logits.masked_fill(logits < threshold, filter_value)
