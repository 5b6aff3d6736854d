"""Classes that checks build in place of the submission's class."""

import submission
import torch


class AllIsDroppedInTraining(submission.Bottleneck):
    def forward(self, x):
        call, mode, results = super().forward, self.training, []
        for is_training in (True, False, True, False, True):
            self.train(is_training)
            results.append(call(x))
        self.train(mode)
        return torch.cat(results)
