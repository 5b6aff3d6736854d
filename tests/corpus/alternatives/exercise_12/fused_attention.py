"""torch's own attention inside, unflatten and flatten around it."""

from torch import nn
from torch.nn import functional as F


class ScaleDotProductAttention(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.attention = ScaleDotProductAttention()
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_concat = nn.Linear(d_model, d_model)

    def forward(self, q, k, v):
        def apart(layer, z):
            return layer(z).unflatten(2, (self.n_head, -1)).transpose(1, 2)

        out = self.attention(apart(self.w_q, q), apart(self.w_k, k), apart(self.w_v, v))
        return self.w_concat(out.transpose(1, 2).flatten(2))
