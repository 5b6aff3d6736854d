"""T5's relative position buckets, and the bias that is looked up by them."""

import math

import torch


def relative_position_bias(table, query_len, key_len, num_buckets=16, max_distance=64):
    """Bias (heads, query_len, key_len) out of a table of (num_buckets, heads)."""
    queries = torch.arange(query_len)[:, None]
    keys = torch.arange(key_len)[None, :]
    distance = keys - queries
    half = num_buckets // 2
    buckets = (distance > 0).long() * half
    distance = distance.abs()
    exact = half // 2
    large = exact + (
        torch.log(distance.clamp(min=1).float() / exact) / math.log(max_distance / exact) * (half - exact)
    ).long()
    large = large.clamp(max=half)
    buckets = buckets + torch.where(distance < exact, distance, large)
    return table[buckets].permute(2, 0, 1)
