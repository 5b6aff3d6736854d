"""Classes that checks build in place of the submission's class."""

import submission
import torch


# The first word has two keys to look at, and often both scores are below 0.
class ValuesOfHugeNumbers(submission.WindowAttention):
    def forward(self, x, past):
        return super().forward(1e17 * x, 1e17 * past)[:, :1] / 1e17


class PlacesInTurn(submission.WindowAttention):
    def forward(self, x, past):
        call = super().forward
        parts = [call(x, past, start=start) for start in (0, 40, 7, 600, 1000, 0, 988)]
        parts += [call(x[:, :1], past, start=1), call(x, past[:, :1]), call(x, past[:, 1:], start=40)]
        windows = [(3, 8, 1), (1, 5, 6), (2, 10, 0), (1, 4, 2)]
        windows += [(1 + index % 4, 1 + 7 * index % 12, 5 * index % 17) for index in range(56)]
        parts += [call(x[:, :words], past[:, :earlier], start) for words, earlier, start in windows]
        return torch.cat(parts, dim=1)


class DtypesInTurn(submission.WindowAttention):
    def forward(self, x, past):
        call = super().forward
        self.to(torch.bfloat16)
        short = call(x.bfloat16(), past.bfloat16(), 300)
        self.to(torch.float64)
        one, other = (call(x.double(), past.double(), start) for start in (300, 0))
        return {
            "in float64": one,
            "1e6 times the change": 1e6 * (other - one),
            "is in bfloat16": torch.tensor(float(short.dtype is torch.bfloat16)),
        }


class ShortFloatsFurtherOn(submission.WindowAttention):
    def forward(self, x, past):
        found, call, mode = [], super().forward, self.training
        for words, earlier, start in ((20, 390, 0), (19, 40, 360), (18, 30, 1020), (17, 30, 4090)):
            inputs = [(4 * each).bfloat16() for each in (x[:, :words], past[:, :earlier])]
            self.train(start > 1000)
            rounded = self.to(torch.bfloat16) and call(*inputs, start)
            exact = self.to(torch.float64) and call(*(each.double() for each in inputs), start + 1)
            error = (rounded - exact).abs().mean() / exact.abs().mean()
            found += [exact[:, :3], error * (error > 0.1)]  # 2% in right layers
        self.train(mode)
        return found
