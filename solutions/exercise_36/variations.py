"""Classes that checks build in place of the submission's class."""

import submission
import torch


# Scores of hundreds and more.
class ValuesOfStrongWeights(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = submission.PatchAttention(width, heads).double()

    def forward(self, patches):
        call, weight = torch.func.functional_call, self.attention.norm.weight
        strong = [{"norm.weight": factor * weight} for factor in (6.0, 30.0, 200.0)]
        return tuple(call(self.attention, each, patches.double()) for each in strong)
