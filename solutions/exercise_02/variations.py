"""Classes that checks build in place of the submission's class."""

import submission
import torch


# Equal tokens have the same weights whatever the scale of their scores.
class ValuesOfEqualTokens(submission.MultiHeadAttention):
    def forward(self, x):
        return super().forward(x[:, :1].repeat(1, x.shape[1], 1))


class ValuesOfQueriesThatSeeNothing(submission.MultiHeadAttention):
    def forward(self, x):
        batch, tokens, _ = x.shape
        sample, one_head, two_heads = (torch.ones(size, 3, tokens, tokens) for size in (batch, 1, 1))
        sample[1, :, 2] = one_head[:, 1, 2] = two_heads[:, :2, 2] = 0
        column = torch.ones(tokens, 1)
        column[1::2] = 0
        found, call = [], super().forward
        for is_training in (False, True):
            self.train(is_training)
            found += [call(x, mask) for mask in (sample, one_head, two_heads, column)]
        self.eval()
        return found


class ValuesBesideALoudHiddenToken(submission.MultiHeadAttention):
    def forward(self, x):
        with torch.no_grad():
            for layer in (self.W_q, self.W_k):
                torch.nn.init.eye_(layer.weight)
                torch.nn.init.zeros_(layer.bias)
        loud = torch.zeros_like(x)
        loud[:, 0] = 1000.0
        return super().forward(loud, torch.arange(x.shape[1])[None] > 0)


class ValuesOfManyAndWide(submission.MultiHeadAttention):
    def forward(self, x, mask):
        return super().forward(x), super().forward(x, mask), super().forward(x, mask[0, 0, :1])


class WithWholeSizes(submission.MultiHeadAttention):
    def __init__(self, embed_dim, num_heads, dropout=0.1):
        super().__init__(embed_dim, num_heads, dropout)
        if not isinstance(getattr(self, "head_dim", 0), int):
            self.head_dim = embed_dim // num_heads


class WithWholeSizesAndVies(WithWholeSizes):
    def __init__(self, embed_dim, num_heads):
        torch.Tensor.vies = torch.Tensor.view
        super().__init__(embed_dim, num_heads)
