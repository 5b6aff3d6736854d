"""Classes that checks build in place of the submission's class."""

import submission
import torch


class ComputesInFloat64(submission.RowEncoder):
    def forward(self, rows):
        self.double()
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.mul_(1 + 2**-26)  # numbers that float32 does not have; float() brings the old ones back
        answer = super().forward(rows.double())
        self.float()
        return answer.float(), 1e6 * (answer - answer.float())  # the digits beyond those of float32
