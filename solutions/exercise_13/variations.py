"""Classes that checks build in place of the submission's class."""

import submission
import torch


class ValuesOfManyAndWide(submission.BatchedAttention):
    def forward(self, x, allowed):
        call, causal_first = super().forward, allowed.clone()
        plain = call(x)
        causal_first[0] = torch.ones_like(allowed[0]).tril()
        itself = torch.eye(2, dtype=torch.bool).expand(len(x), 2, 2)
        loud = [call(1e6 * x[:, :2], each) for each in (itself, ~itself)]
        return (
            plain,
            *(call(x, each) for each in (allowed, causal_first, None)),
            call(x[:3, :1]),
            *(each / 1e6 if isinstance(each, torch.Tensor) else each for each in loud),
        )


class Unmixed(submission.BatchedAttention):
    def unmixed(self, x, allowed):
        with torch.no_grad():
            self.merge.weight.copy_(torch.eye(self.merge.weight.shape[0]))
            self.merge.bias.zero_()
        return self(x, allowed=allowed)
