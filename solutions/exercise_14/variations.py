"""Classes that checks build in place of the submission's class."""

import submission
import torch


class ValuesWithPaddingOfTheirOwn(submission.CausalAttention):
    def padded_each_otherwise(self, x):
        places = torch.arange(5)
        keep = places < torch.tensor([2, 5, 4])[:, None]
        keep[2, 1] = False
        as_many = places < torch.tensor([5, 2, 4, 1, 3])[:, None]
        lone = places.expand(3, 5) < 1  # a lone token is all there is, however loud the padding
        with torch.no_grad():
            loud = self(1000 * x[:3], lone)
        equal = places != torch.tensor([1, 2, 4])[:, None]  # as many real tokens in all samples
        two = self(x[:1, :2], torch.tensor([[True, False]]))
        orders = [0, 1, 2], [1, 0, 2], [0, 1, 0]
        return *(self(x[:3], keep[order]) for order in orders), self(x[:5], as_many), loud, two, self(x[:3], equal)


class ValuesOfManyAndWideWithPadding(submission.CausalAttention):
    def forward(self, x, keep):
        late = torch.ones_like(keep)
        late[-1, keep.shape[1] // 2 :] = False
        return super().forward(x, keep), super().forward(x, late)
