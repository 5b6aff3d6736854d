"""Classes that checks build in place of the submission's class."""

import copy

import submission
import torch


class ValuesWhereAnEarlierStepLeftGradients(torch.nn.Module):
    def __init__(self, width, outputs, longest):
        super().__init__()
        self.model = torch.nn.Linear(width, outputs)

    def forward(self, x, y):
        with torch.inference_mode(False), torch.enable_grad():
            optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
            for parameter in self.model.parameters():
                parameter.grad = torch.ones_like(parameter)
            submission.training_step(self.model, optimizer, x.clone(), y.clone(), longest=1e9, parts=1)
            return {name: each.detach().clone() for name, each in self.model.named_parameters()}


class ValuesOfTwoGroups(torch.nn.Module):
    def __init__(self, width, outputs, longest):
        super().__init__()
        self.model = torch.nn.Sequential(torch.nn.Linear(width, outputs), ScaledNorm(outputs))

    def forward(self, x, y):
        with torch.inference_mode(False), torch.enable_grad():
            found = []
            for loudness, longest, parts in ((1000.5, 0.05, 12), (0.5, 1e-4, 2), (0.3, 1e9, 3)):
                model = copy.deepcopy(self.model)
                rate = 1 / min(longest, 1.0)
                groups = [
                    {"params": model[0].parameters(), "lr": rate},
                    {"params": model[1].parameters(), "lr": 3 * rate},
                ]
                optimizer = torch.optim.SGD(groups)
                for parameter in model.parameters():
                    parameter.grad = torch.ones_like(parameter)
                submission.training_step(model, optimizer, x.clone(), y.clone(), loudness, longest, parts)
                found += [each.detach().float() for each in model.state_dict().values()]
            return tuple(found)


class ScaledNorm(torch.nn.BatchNorm1d):
    def __init__(self, outputs):
        super().__init__(outputs)
        self.scale = torch.nn.Parameter(torch.ones(()))  # without axes

    def forward(self, x):
        return self.scale * super().forward(x)


class ShortFloats(torch.nn.Module):
    def __init__(self, width, outputs, dtype):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((outputs, width), 0.5))
        self.dtype = dtype

    def forward(self, x):
        return 1e-6 * (x.to(self.dtype) @ self.weight.to(self.dtype).mT).float()


# The inputs are so large that gradients are thousands long.
class ValuesOfOtherSettings(torch.nn.Module):
    def __init__(self, width, outputs, longest):
        super().__init__()
        self.sizes = width, outputs

    def move(self, x, y, rate=1.0, **settings):
        model = torch.nn.Linear(*self.sizes)
        torch.nn.init.zeros_(model.weight)
        torch.nn.init.zeros_(model.bias)
        optimizer, steps = torch.optim.SGD(model.parameters(), lr=rate), []
        optimizer.register_step_post_hook(lambda *_: steps.append(1))
        submission.training_step(model, optimizer, x.clone(), y.clone(), **settings)
        return torch.cat([model.weight.detach(), 1e4 * model.bias.detach()[:, None]], dim=1), len(steps)

    def is_training(self, x, y, mode, others):
        layers = torch.nn.Linear(*self.sizes), torch.nn.BatchNorm1d(self.sizes[1]), torch.nn.Dropout(0.5)
        model, modes = torch.nn.Sequential(*layers), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for each in model.modules():
            each.register_forward_hook(lambda layer, *_: modes.append(layer.training))
        for _ in range(2):
            model.train(mode)
            for place in others:
                model[place].train(not mode)
            submission.training_step(model, optimizer, x.clone(), y.clone())
        return all(modes)

    def learns_in_half_precision(self, x, y):
        """Return whether gradients arrive that float16 cannot represent without loudness."""
        changes = []
        for dtype in (torch.float16, torch.float32):
            model = ShortFloats(*self.sizes, dtype)
            optimizer = torch.optim.SGD(model.parameters(), lr=1e6)
            submission.training_step(model, optimizer, x.clone(), y.clone(), loudness=2.0**20, longest=1e9)
            changes.append(model.weight.detach() - 0.5)
        short, exact = changes
        return (short - exact).norm() < 0.1 * exact.norm()

    def size_of_gradients(self, x, y, **settings):
        """Return the sum of the sizes of all gradients that reach the model's output."""
        model, sizes = torch.nn.Linear(*self.sizes), []

        def watch(_model, _inputs, output):
            output.register_hook(lambda gradient: sizes.append(gradient.abs().sum()))

        torch.nn.init.zeros_(model.weight)
        torch.nn.init.zeros_(model.bias)
        model.register_forward_hook(watch)
        submission.training_step(model, torch.optim.SGD(model.parameters(), lr=0.1), x.clone(), y.clone(), **settings)
        return sum(sizes, torch.zeros(()))

    def forward(self, x, y):
        with torch.inference_mode(False), torch.enable_grad():
            found = {"small gradients in float16": self.learns_in_half_precision(x, y).float()}
            sizes = self.size_of_gradients(x, y), self.size_of_gradients(x, y, loudness=1.0)
            found["gradients of the model's output, by default and with loudness=1.0"] = torch.stack(sizes)
            x = 1e4 * x
            louder = zip((0.01, 3000.0, 2.0**15, 2.0**17, 1e7, 1024.0), (1, 3, 5, 9, 17, 33), strict=True)
            settings = [(loudness, 1e15, parts) for loudness, parts in louder]
            settings += [(1.0, longest, 1) for longest in (0.0, 0.5, 30.0, 500.0, 1e9)]
            for loudness, longest, parts in settings:
                rate = 1 / min(longest or 1.0, 1e3)
                change, _ = self.move(x, y, rate, loudness=loudness, longest=longest, parts=parts)
                found[f"with loudness={loudness:g}, longest={longest:g} and parts={parts}"] = change
            for value in (0.0, float("nan")):
                x[5] = value
                change, steps = self.move(x, y)
                found[f"with a sample of {value}: what is nan, and the number of steps"] = change.isnan() + steps
            for mode, others in ((False, []), (True, [1]), (True, [2]), (False, [0, 1, 2])):
                name = f"training={mode} before each of two steps, but not of parts {others}: all in training mode"
                found[name] = torch.tensor(float(self.is_training(x.nan_to_num(), y, mode, others)))
            return found
