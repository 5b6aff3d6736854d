"""Classes that checks build in place of the submission's class."""

import submission
import torch


class TheWeightTakesPart(submission.AddNorm):
    def forward(self, x, residual):
        with torch.no_grad():
            self.weight.copy_(torch.arange(1.0, self.weight.numel() + 1))
        return super().forward(x, residual)[0]


# The sum of the squares of these numbers just fits into float32.
class ValuesOfHugeNumbers(submission.AddNorm):
    def forward(self, x, residual):
        normed, stream = super().forward(1e17 * x, 1e17 * residual)
        return normed, stream / 1e17
