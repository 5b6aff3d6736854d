"""Classes that checks build in place of the submission's class."""

import submission
import torch


# The first word can only look at itself, and half of all scores are below 0.
class ValuesOfHugeNumbers(submission.TurnedAttention):
    def forward(self, x):
        return super().forward(1e15 * x)[:, :1] / 1e15


# The weights follow from a formula, so they need not be recorded.
class ValuesOfOtherBases(torch.nn.Module):
    def __init__(self, width, heads, base):
        super().__init__()

    def forward(self, x):
        found = {}
        for base, heads in ((1.001, 7), (1.5, 8), (2.75, 6), (300.25, 9), (2_000_000.0, 12)):
            module = submission.TurnedAttention(6 * heads, heads, base)
            with torch.no_grad():
                for parameter in module.parameters():
                    places = torch.arange(parameter.numel(), dtype=torch.float64).view_as(parameter)
                    parameter.copy_(places.square().sin() / (6 * heads) ** 0.5)
            found[f"with base={base:g}, heads={heads}"] = module(x[..., : 6 * heads])[:, ::13]
        return found


# No other check has this base.
class ValuesAfterInference(submission.TurnedAttention):
    def forward(self, x):
        with torch.inference_mode():
            super().forward(x)
        return super().forward(x)
