"""Parameter groups, each with numbers of its own that a schedule may change, and gradients that are left alone."""

# R rows, C columns

from grader.examiner.compare import compare

R, C = 3, 4
PROBE = """
class Groups(torch.nn.Module):
    def forward(self, one, other):
        with torch.inference_mode(False), torch.enable_grad():
            first, second, third = (torch.nn.Parameter(each.detach().clone()) for each in (one, other, other))
            groups = [
                {"params": [first, third], "lr": 0.1, "betas": (0.5, 0.7)},
                {"params": [second], "betas": (0.8, 0.95), "eps": 0.1, "weight_decay": 0.5},
            ]
            optimizer = submission.PocketAdamW(groups, lr=0.2)
            for step in range(4):
                optimizer.param_groups[0]["lr"] *= 0.8
                for each in (first, second):
                    each.grad = torch.sin(each.detach() * (step + 1)) * (step != 2)  # once all zeros
                third.grad = None if step < 2 else torch.cos(third.detach() * (step + 1))
                optimizer.step()
            return first.detach(), second.detach(), third.detach(), first.grad, second.grad, third.grad
"""


def test_each_group_has_its_own_numbers(subject, reference, gaussian):
    ours, theirs = (maker.build({}, probe=PROBE, entry="Groups") for maker in (subject, reference))
    inputs = {"one": gaussian(R, C), "other": gaussian(C)}
    compare(ours(**inputs), theirs(**inputs), "two parameter groups, after four steps: parameters and their gradients,")
