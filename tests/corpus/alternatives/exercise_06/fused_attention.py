"""torch's own attention between flatten and unflatten."""

from torch import nn
from torch.nn.functional import scaled_dot_product_attention


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model {d_model} is not a multiple of n_heads {n_heads}")
        self.d_model = d_model
        self.n_heads = n_heads
        self.head_dim = d_model // n_heads
        self.w_query = nn.Linear(d_model, d_model)
        self.w_key = nn.Linear(d_model, d_model)
        self.w_value = nn.Linear(d_model, d_model)
        self.attention_scores = nn.Linear(d_model, d_model)

    def heads(self, t):
        return t.unflatten(-1, (self.n_heads, self.head_dim)).transpose(-2, -3)

    def forward(self, x):
        context = scaled_dot_product_attention(
            self.heads(self.w_query(x)), self.heads(self.w_key(x)), self.heads(self.w_value(x))
        )
        return self.attention_scores(context.transpose(-2, -3).flatten(-2))
