"""torch's own attention with a mask that is stretched over the heads."""

from torch import nn
from torch.nn.functional import scaled_dot_product_attention


class BatchedAttention(nn.Module):
    def __init__(self, features: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(features, 3 * features)
        self.merge = nn.Linear(features, features)

    def forward(self, x, allowed=None):
        parts = [part.unflatten(-1, (self.heads, -1)).movedim(2, 1) for part in self.qkv(x).tensor_split(3, dim=-1)]
        mask = None if allowed is None else allowed.unsqueeze(1).expand(-1, self.heads, -1, -1)
        return self.merge(scaled_dot_product_attention(*parts, attn_mask=mask).movedim(1, 2).flatten(2))
