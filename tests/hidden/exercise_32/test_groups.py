"""Parameter groups, each with numbers of its own, and gradients that are left alone."""

# R rows, C columns

from grader.examiner.compare import compare

R, C = 3, 4
PROBE = """
class Groups(torch.nn.Module):
    def forward(self, one, other):
        with torch.inference_mode(False), torch.enable_grad():
            first, second = (torch.nn.Parameter(each.detach().clone()) for each in (one, other))
            groups = [
                {"params": [first], "lr": 0.1, "betas": (0.5, 0.7)},
                {"params": [second], "betas": (0.8, 0.95), "eps": 0.1, "weight_decay": 0.5},
            ]
            optimizer = submission.PocketAdamW(groups, lr=0.2)
            for step in range(4):
                for each in (first, second):
                    each.grad = torch.sin(each.detach() * (step + 1))
                optimizer.step()
            return first.detach(), second.detach(), first.grad, second.grad
"""


def test_each_group_has_its_own_numbers(subject, reference, gaussian):
    ours, theirs = (maker.build({}, probe=PROBE, entry="Groups") for maker in (subject, reference))
    inputs = {"one": gaussian(R, C), "other": gaussian(C)}
    compare(ours(**inputs), theirs(**inputs), "two parameter groups, after four steps: parameters and their gradients,")
