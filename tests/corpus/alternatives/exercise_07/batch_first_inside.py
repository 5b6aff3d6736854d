"""Works batch first with matmul after the scoring and turns the axes back at the end."""

import torch
import torch.nn.functional as F
from torch import nn


class PrepareForMultiHeadAttention(nn.Module):
    def __init__(self, d_model, heads, d_k, bias):
        super().__init__()
        self.linear = nn.Linear(d_model, heads * d_k, bias=bias)
        self.heads, self.d_k = heads, d_k

    def forward(self, x):
        return self.linear(x).unflatten(-1, (self.heads, self.d_k))


class MultiHeadAttention(nn.Module):
    def __init__(self, heads, d_model, dropout_prob=0.1, bias=True):
        super().__init__()
        if d_model % heads:
            raise ValueError(f"{heads} heads cannot share {d_model} features")
        self.heads = heads
        self.d_k = d_model // heads
        self.query = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.key = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.value = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.output = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout_prob)
        self.attn = None

    def get_scores(self, query, key):
        scores = query.permute(1, 2, 0, 3) @ key.permute(1, 2, 3, 0)  # (B, H, Tq, Tk)
        return scores.permute(2, 3, 0, 1)

    @staticmethod
    def check_mask(mask, queries, keys, batch):
        try:
            fits = mask.dim() == 3 and mask.shape[1] == keys
            mask.expand(queries, keys, batch)
        except RuntimeError:
            fits = False
        if not fits:
            raise ValueError(
                f"a mask of shape {tuple(mask.shape)} does not fit: "
                f"it has to be (queries, keys, batch) = ({queries}, {keys}, {batch})"
            )

    def forward(self, *, query, key, value, mask=None):
        queries, batch, _ = query.shape
        keys = key.shape[0]
        if mask is not None:
            self.check_mask(mask, queries, keys, batch)
        scores = self.get_scores(self.query(query), self.key(key)) / self.d_k**0.5
        if mask is not None:
            scores = torch.where(mask[..., None] == 0, -torch.inf, scores)
        weights = F.softmax(scores, dim=1)
        self.attn = weights.detach()
        v = self.value(value).permute(1, 2, 0, 3)  # (B, H, Tk, S)
        x = self.dropout(weights).permute(2, 3, 0, 1) @ v  # (B, H, Tq, S)
        return self.output(x.permute(2, 0, 1, 3).flatten(2))
