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


class EvaluatedInBetween(submission.Bottleneck):
    def forward(self, x):
        call, mode = super().forward, self.training
        self.eval()
        for context in (torch.enable_grad, torch.no_grad, torch.inference_mode):
            with context():
                call(x), call(x[:1])
        self.train(mode)
        return call(x)
