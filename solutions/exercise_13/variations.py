"""Classes that checks build in place of the submission's class."""

import submission
import torch


class ValuesOfManyAndWide(submission.BatchedAttention):
    def forward(self, x, allowed):
        return super().forward(x), super().forward(x, allowed)


class Unmixed(submission.BatchedAttention):
    def unmixed(self, x, allowed):
        with torch.no_grad():
            self.merge.weight.copy_(torch.eye(self.merge.weight.shape[0]))
            self.merge.bias.zero_()
        return self(x, allowed=allowed)
