"""Classes that checks build in place of the submission's class."""

import submission
import torch


class ValuesWithAFillingOfTheirOwn(submission.BackwardLook):
    def filled_each_otherwise(self, x):
        found = []
        for lengths in ([6, 6, 6], [1, 4, 6], [5, 2, 3], [6, 2, 4]):
            real = torch.arange(6) < torch.tensor(lengths)[:, None]
            found.append(self(x, real))
        real[0, 2] = False
        return *found, self(x, real)


class ValuesWithGaps(submission.BackwardLook):
    def filled_in_patterns(self, x):
        found = []
        for patterns in (
            ("101101", "110011", "100001"),  # each sentence ends with a real word
            ("101101", "110011", "100111"),  # as many real words in each sentence
            ("100111", "101111", "100011"),  # filled up at the left
            ("101010", "110100", "100100"),
            ("111111", "101111", "111110"),
        ):
            real = torch.tensor([[place == "1" for place in pattern] for pattern in patterns])
            found += [self(x, real), self(x[:1], real[:1])]
        alone = torch.zeros(x.shape[:2], dtype=torch.bool)
        alone[:, 0] = True
        found.append(self(1e15 * x, alone) / 1e15)  # one word to look at, whatever its score
        found.append(self(1e15 * x, torch.ones_like(alone))[:, :1] / 1e15)
        return tuple(found)


class ValuesOfLargeSizes(submission.BackwardLook):
    def forward(self, x, real):
        x, real = x.clone(), torch.arange(real.numel()).view(real.shape) % 3 != 1
        x[:, 1], real[:, 0] = 0.0, True
        return super().forward(x, real)
