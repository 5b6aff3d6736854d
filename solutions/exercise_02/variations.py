"""Classes that checks build in place of the submission's class."""

import submission
import torch


# Equal tokens have the same weights whatever the scale of their scores.
class ValuesOfEqualTokens(submission.MultiHeadAttention):
    def forward(self, x):
        return super().forward(x[:, :1].repeat(1, x.shape[1], 1))


class ValuesOfManyAndWide(submission.MultiHeadAttention):
    def forward(self, x, mask):
        call = super().forward
        blind_in_one_head = mask.repeat(1, self.num_heads, 1, 1)
        blind_in_one_head[:, 0, -1] = False
        return call(x), call(x, mask), call(x, mask[0, 0, :1]), call(x, blind_in_one_head)


class WithWholeSizes(submission.MultiHeadAttention):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__(embed_dim, num_heads, dropout)
        if not isinstance(getattr(self, "head_dim", 0), int):
            self.head_dim = embed_dim // num_heads


class WithWholeSizesAndVies(WithWholeSizes):
    def __init__(self, embed_dim, num_heads):
        torch.Tensor.vies = torch.Tensor.view
        super().__init__(embed_dim, num_heads)
