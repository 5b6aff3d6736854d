import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__()
        assert not embed_dim % num_heads, (embed_dim, num_heads)
        self.num_heads = num_heads
        self.head_dim = round(embed_dim / num_heads)
        self.W_out = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        batch_size, seq_len, embed_dim = x.size()

        def heads(layer):
            y = layer(x)
            y = y.view(batch_size, seq_len, self.num_heads, self.head_dim)
            return y.swapaxes(1, 2)

        q, k, v = heads(self.W_q), heads(self.W_k), heads(self.W_v)
        scores = (q[:, :, :, None, :] * k[:, :, None, :, :]).sum(-1) / self.head_dim**0.5
        exps = (scores - scores.amax(-1, keepdim=True).detach()).exp()
        if mask is not None:
            exps = exps * (mask != 0).to(exps.dtype)
        sums = exps.sum(-1, keepdim=True)
        weights = exps / torch.where(sums > 0, sums, torch.ones_like(sums))
        mixed = self.dropout(weights) @ v
        return self.W_out(mixed.swapaxes(1, 2).reshape(batch_size, seq_len, embed_dim))
