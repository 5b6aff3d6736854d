"""torch's own attention does the scores, the mask, the softmax and the dropout."""

import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        assert embed_dim % num_heads == 0, (
            f"Model embedding dimension (received embed_dim: {embed_dim}) must be divisible by "
            f"number of attention heads (received num_heads: {num_heads})"
        )
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_out = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        batch_size, seq_len, embed_dim = x.size()
        shape = (batch_size, seq_len, self.num_heads, self.head_dim)
        q, k, v = (layer(x).view(shape).transpose(1, 2) for layer in (self.W_q, self.W_k, self.W_v))
        out = F.scaled_dot_product_attention(
            q, k, v,
            attn_mask=None if mask is None else mask.bool(),
            dropout_p=self.dropout.p if self.training else 0.0,
        )
        return self.W_out(out.transpose(1, 2).reshape(batch_size, seq_len, embed_dim))
