"""Classes that checks build in place of the submission's class."""

import copy

import submission
import torch


class Steps(torch.nn.Module):
    def __init__(self, lr):
        super().__init__()
        self.lr = lr


class ValuesOfTwoGroups(Steps):
    def forward(self, matrix, vector):
        with torch.inference_mode(False), torch.enable_grad():
            parameters = [torch.nn.Parameter(each.clone()) for each in (matrix, vector, vector, vector)]
            first, second, third, late = parameters
            groups = [
                {"params": [first], "lr": 0.1, "betas": (0.5, 0.7)},
                {"params": [second, third], "betas": (0.8, 0.95), "eps": 0.1, "weight_decay": 0.5},
            ]
            optimizer = submission.PocketAdamW(groups, lr=4 * self.lr)
            for step in range(6):
                if step < 4:
                    optimizer.param_groups[0]["lr"] = 0.1 * 0.8**step * (step != 1)
                    optimizer.param_groups[1] |= {"eps": 0.1 + 0.2 * step, "weight_decay": 0.5 - 0.1 * step}
                if step == 3:
                    optimizer.add_param_group({"params": [late], "lr": 0.2})
                if step == 4:  # another optimizer, which has taken a step of its own, loads the state
                    saved = copy.deepcopy((optimizer.state_dict(), parameters))
                    optimizer = submission.PocketAdamW(
                        [{"params": each["params"]} for each in optimizer.param_groups], lr=0.4
                    )
                    optimizer.step()
                    for each, value in zip(parameters, saved[1], strict=True):
                        each.data.copy_(value)
                    optimizer.load_state_dict(saved[0])
                for each in (first, second):
                    each.grad = torch.sin(each.detach() * (step + 1)) * (step != 2)
                late.grad = torch.cos(late.detach() * (step + 1))
                third.grad = None if step in (0, 1, 3) else torch.cos(third.detach() * (step + 1))
                optimizer.step()
            found = {"first": first, "second": second, "third": third, "late": late}
            gradients = {f"gradient of {name}": each.grad for name, each in found.items()}
            return {name: each.detach() for name, each in (found | gradients).items()}


# Parameters without axes, without elements, without a gradient or transposed, and numbers at the ends of float32.
class ValuesOfNumbers(Steps):
    def forward(self, matrix, vector):
        with torch.inference_mode(False), torch.enable_grad():
            starts = [vector, vector[0], 1e10 * vector, vector, matrix.mT, vector[-1]]
            found = [torch.nn.Parameter(each.clone()) for each in starts]
            empty, unused, resting = (torch.nn.Parameter(torch.ones(shape)) for shape in ((0, 3), (2,), (2,)))
            groups = [
                {"params": [unused], "lr": 0.1},
                {"params": [found[0], empty], "betas": (0.0, 0.9), "eps": 0.0},
                {"params": [found[1]], "betas": (0.9, 0.0), "weight_decay": 3.0},  # which turns the sign
                {"params": [found[2], resting]},
                {"params": [found[3]], "lr": 0.0, "weight_decay": 30.0},
                {"params": [found[4], found[5]], "betas": (0.5, 0.999)},
            ]
            optimizer = submission.PocketAdamW(groups, lr=0.5)
            gradients = []
            for each in (found[0], empty):  # all of their group; they still get gradients, so they still move
                each.requires_grad_(False)
            for step in range(3):
                for index, each in enumerate(found):
                    size = 10.0 ** (min(index, 4) * (step + 2) or -12)
                    each.grad = size * torch.cos(starts[index] * (step + 1)) * ((index, step) != (1, 0))
                empty.grad = torch.zeros_like(empty)
                optimizer.step()
                gradients += [each.grad for each in found]
            found[2] = found[2] / 1e10
            return tuple(each.detach() for each in (*found, *gradients, unused, resting))


def walk(starts, steps, *settings):
    parameters = [torch.nn.Parameter(each.clone()) for each in starts]
    optimizer = submission.PocketAdamW([{"params": [each]} for each in parameters], *settings)
    for step in range(steps):
        for index, (group, each, start) in enumerate(zip(optimizer.param_groups, parameters, starts, strict=False)):
            if step == 1:
                group["lr"] += 0.1 + 0.01 * index
                group["eps"] += 0.1
                group["weight_decay"] += 0.2
            each.grad = torch.cos(start) * (1 + step % 3)
        optimizer.step()
    return torch.stack(parameters).detach()


class ValuesOfOtherRuns(Steps):
    def forward(self, matrix, vector):
        with torch.inference_mode(False), torch.enable_grad():
            return {
                "after many steps": walk([vector.double()], 1030, 0.1, (0.999, 0.9999), 0.7, 0.3),
                "of many groups": walk([vector] * 20, 2, 0.05),
                "from zeros": walk([vector], 3, 0.0, (0.0, 0.0), 0.0, 0.0),
            }


def two_steps(*starts):
    parameters = [torch.nn.Parameter(each.clone()) for each in starts]
    optimizer = submission.PocketAdamW(parameters, lr=0.1)
    for _ in range(2):
        for each, start in zip(parameters, starts, strict=True):
            each.grad = torch.cos(start)
        optimizer.step()
    return parameters[-1].detach()


class ValuesSideBySide(Steps):
    def forward(self, matrix, vector):
        with torch.inference_mode(False), torch.enable_grad():
            rows, precise = vector.expand(70_000, -1), vector.double()
            change = two_steps(vector, precise) - two_steps(precise)
            return (two_steps(rows) - two_steps(vector)).abs().amax(dim=0), 1e6 * change
