"""Gradients of an earlier step may still be there when a step begins."""

# B batch, W width, C classes

import torch

from grader.examiner.compare import compare

B, W, C = 6, 4, 3
PROBE = """
class Littered(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Linear(4, 3)

    def forward(self, x, y):
        with torch.inference_mode(False), torch.enable_grad():
            optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
            for parameter in self.model.parameters():
                parameter.grad = torch.ones_like(parameter)
            x, y = x.detach().clone(), y.detach().clone()
            submission.training_step(self.model, optimizer, x, y, longest=1e9, parts=1)
        return [parameter.detach().clone() for parameter in self.model.parameters()]
"""


def test_what_an_earlier_step_left_is_thrown_away(subject, reference, gaussian):
    theirs = reference.build({}, probe=PROBE, entry="Littered")
    ours = subject.build({}, like=theirs, probe=PROBE, entry="Littered")
    inputs = {"x": gaussian(B, W), "y": torch.arange(B) % C}
    compare(ours(**inputs), theirs(**inputs), "gradients of an earlier step are there: parameters after the step,")
