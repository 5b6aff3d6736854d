"""Without gradients the scores of a subclass are still scaled where they lie.
expect: broken
"""

import math
from typing import Optional

import torch
from torch import nn


class PrepareForMultiHeadAttention(nn.Module):
    """A linear map whose result is cut into heads; serves queries, keys and values."""

    def __init__(self, d_model: int, heads: int, d_k: int, bias: bool):
        super().__init__()
        self.linear = nn.Linear(d_model, heads * d_k, bias=bias)
        self.heads = heads
        self.d_k = d_k

    def forward(self, x: torch.Tensor):
        # Whatever comes before the last axis stays: (T, B, D), or (B, D)
        head_shape = x.shape[:-1]

        x = self.linear(x)

        # (T, B, H, S), or (B, H, S)
        x = x.view(*head_shape, self.heads, self.d_k)

        return x


class MultiHeadAttention(nn.Module):
    """Scaled dot-product attention with several heads."""

    def __init__(self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True):
        super().__init__()

        if d_model % heads != 0:
            raise ValueError(f"d_model={d_model} cannot be shared evenly by heads={heads}")
        # Features in each head
        self.d_k = d_model // heads
        self.heads = heads

        self.query = PrepareForMultiHeadAttention(d_model, self.heads, self.d_k, bias=bias)
        self.key = PrepareForMultiHeadAttention(d_model, self.heads, self.d_k, bias=bias)
        self.value = PrepareForMultiHeadAttention(d_model, self.heads, self.d_k, bias=bias)

        # Over the keys
        self.softmax = nn.Softmax(dim=1)

        self.output = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout_prob)
        self.scale = 1 / math.sqrt(self.d_k)

        # The last call's weights, for logging and the like
        self.attn = None

    def get_scores(self, query: torch.Tensor, key: torch.Tensor):
        """Score every key for every query, (Tq, Tk, B, H); a subclass may score them in its own way."""
        return torch.einsum('ibhd,jbhd->ijbh', query, key)

    def forward(self, *,
                query: torch.Tensor,
                key: torch.Tensor,
                value: torch.Tensor,
                mask: Optional[torch.Tensor] = None):
        """Attend from `query` (Tq, B, D) to `key` and `value` (Tk, B, D); 0 in `mask` hides a key from a query."""
        seq_len, batch_size, _ = query.shape

        if mask is not None:
            # (Tq, Tk, B); one row may serve all queries, one column all samples
            sizes = ((seq_len, 1), (key.shape[0],), (batch_size, 1))
            if mask.dim() != 3 or any(n not in allowed for n, allowed in zip(mask.shape, sizes)):
                raise ValueError(
                    f"mask has shape {tuple(mask.shape)}; expected (queries, keys, batch), "
                    f"here ({seq_len} or 1, {key.shape[0]}, {batch_size} or 1)"
                )

            # The same for all heads: (Tq, Tk, B, 1)
            mask = mask.unsqueeze(-1)

        # (T, B, H, S) each
        query = self.query(query)
        key = self.key(key)
        value = self.value(value)

        # (Tq, Tk, B, H)
        scores = self.get_scores(query, key)
        scores = scores * self.scale if torch.is_grad_enabled() else scores.mul_(self.scale)

        if mask is not None:
            scores = scores.masked_fill(mask == 0, float('-inf'))

        # Each query's weights over the keys
        attn = self.softmax(scores)
        self.attn = attn.detach()
        attn = self.dropout(attn)

        # Weighted sum of the values: (Tq, B, H, S)
        x = torch.einsum("ijbh,jbhd->ibhd", attn, value)

        # Heads side by side: (Tq, B, D)
        x = x.reshape(seq_len, batch_size, -1)

        return self.output(x)
