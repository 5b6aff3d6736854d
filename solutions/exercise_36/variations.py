"""Classes that checks build in place of the submission's class."""

import submission
import torch


# Scores of hundreds and more.
class ValuesOfStrongWeights(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        modules = [submission.PatchAttention(width, heads).double() for _ in range(3)]
        self.attentions = torch.nn.ModuleList(modules)

    def forward(self, patches):
        for factor, attention in zip((6.0, 30.0, 200.0), self.attentions, strict=True):
            with torch.no_grad():
                weight = attention.norm.weight
                weight.copy_(factor * torch.linspace(0.5, 1.5, len(weight)))
        return tuple(attention(patches.double()) for attention in self.attentions)
