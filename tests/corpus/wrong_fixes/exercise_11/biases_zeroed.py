"""With the switch off the biases are zero, and there.
expect: fixed=scaled-twice,dropout-in-evaluation unfixed=bias-flag-ignored
"""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn


@dataclass
class AttentionConfig:
    hidden_size: int
    num_heads: int
    attention_dropout: float
    qkv_bias: bool

    @property
    def head_dim(self) -> int:
        return self.hidden_size // self.num_heads


class Attention(nn.Module):
    def __init__(self, hidden_size: int, num_heads: int, attention_dropout: float = 0.0, qkv_bias: bool = True):
        super().__init__()
        self.config = config = AttentionConfig(hidden_size, num_heads, attention_dropout, qkv_bias)
        self.scaling = config.head_dim**-0.5
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(hidden_size, hidden_size) for _ in range(3))
        self.o_proj = nn.Linear(hidden_size, hidden_size)
        if not qkv_bias:
            for layer in (self.q_proj, self.k_proj, self.v_proj):
                nn.init.zeros_(layer.bias)

    def _split_heads(self, states: Tensor) -> Tensor:
        """[batch, tokens, hidden_size] -> [batch, num_heads, tokens, head_dim]"""
        return states.unflatten(-1, (self.config.num_heads, self.config.head_dim)).transpose(1, 2)

    def forward(self, hidden_states: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        query = self._split_heads(self.q_proj(hidden_states)) * self.scaling
        key = self._split_heads(self.k_proj(hidden_states))
        value = self._split_heads(self.v_proj(hidden_states))
        attn_output = F.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=attention_mask, scale=1.0,
            dropout_p=self.config.attention_dropout if self.training else 0.0,
        )
        return self.o_proj(attn_output.transpose(1, 2).flatten(2))
