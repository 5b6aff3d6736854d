"""Classes that checks build in place of the submission's class."""

import submission
import torch


class AllIsDroppedInTraining(submission.Bottleneck):
    def __init__(self, width, hidden, inner, outer):
        super().__init__(width, hidden, inner, outer)  # by position

    def forward(self, x):
        call, mode, results = super().forward, self.training, []
        for is_training in (True, False, True, False, True):
            self.train(is_training)
            results.append(call(x))
        self.train(mode)
        return torch.cat(results)


class DropsInFloat64(submission.Bottleneck):
    def forward(self, x):
        found = [super().forward(x)]
        x = x.double()
        for inner, outer in ((0.3, 0.0), (0.0, 0.3)):
            layer = submission.Bottleneck(x.shape[1], 1, inner=inner, outer=outer).double()
            with torch.no_grad(), torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                for parameter in layer.parameters():
                    parameter.fill_(0.6)
                layer.up.bias.fill_(7.0)
                kept = (0.6 * torch.relu(layer.up(x)) / (1 - inner) + 0.6) / (1 - outer)
                dropped = 0.6 if inner else 0.0
                added = layer(x) - x
            errors = torch.minimum((added - kept).abs(), (added - dropped).abs())
            found.append(1e8 * errors)  # the digits beyond those of float32
        return found


class EvaluatedInBetween(submission.Bottleneck):
    def forward(self, x):
        call, mode = super().forward, self.training
        self.eval()
        for context in (torch.enable_grad, torch.no_grad, torch.inference_mode):
            with context():
                call(x), call(x[:1])
        self.train(mode)
        return call(x)
