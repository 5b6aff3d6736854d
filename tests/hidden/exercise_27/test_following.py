"""Steps, and what the twin makes of them."""

# B batch, W width, H hidden

import torch

from grader.checks.compare import Failure, compare, compare_gradients

B, W, H = 6, 3, 5
ARGUMENTS = {"width": W, "hidden": H, "decay": 0.7}
PROBE = """
class Variation(submission.CalmNetwork):
    def averages(self):
        norm = next(m for m in self.online.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm))
        return [norm.running_mean.clone(), norm.running_var.clone()]

    def shake(self):
        with torch.no_grad():
            for parameter in self.online.parameters():
                parameter.mul_(1.5).add_(0.25)

    def answer_of_online(self, x):
        return self.online(x)

    def parameters_of(self, part):
        return [parameter.detach().clone() for parameter in getattr(self, part).parameters()]

    def state_of(self, part):
        return [value.detach().clone() for value in getattr(self, part).state_dict().values()]

    def buffers_of(self, part):
        return [buffer.clone() for buffer in getattr(self, part).buffers()]
"""


def pair(subject, reference, decay=0.7):
    arguments = {**ARGUMENTS, "decay": decay}
    theirs = reference.build(arguments, probe=PROBE, entry="Variation")
    ours = subject.build(arguments, like=theirs, probe=PROBE, entry="Variation")
    return ours, theirs


def batches(gaussian):
    return [gaussian(B, W) * (1.0 + index) + 2.0 * index for index in range(4)]


def train_on(module, x):
    module.training = True
    seen = module(x=x)
    if not isinstance(seen, torch.Tensor):  # a module that computes nothing learns nothing
        raise Failure("type", f"forward: expected a tensor, got {type(seen).__name__}")
    return seen


def steps(module, inputs):
    for index, x in enumerate(inputs):
        train_on(module, x)
        module.call("shake")
        module.training = index % 2 == 0  # following is the same in both modes
        seen = module.call("follow")
        if seen is not None:
            raise Failure("returned", f"follow: expected it to return nothing, got {type(seen).__name__}")


def test_the_twins_buffers_are_the_others(subject, reference, gaussian):
    ours, _ = pair(subject, reference)
    steps(ours, batches(gaussian))
    compare(ours.call("buffers_of", part="twin"), ours.call("buffers_of", part="online"), "after following: buffer")


def test_without_decay_the_twin_answers_as_the_other_does(subject, gaussian):
    module = subject.build({**ARGUMENTS, "decay": 0.0}, probe=PROBE, entry="Variation")
    steps(module, batches(gaussian))
    module.training = False
    x = gaussian(B, W)
    seen, expected = module(x=x), module.call("answer_of_online", x=x)
    compare(seen, expected, "in eval mode with decay=0, after following: output")


def test_the_twins_parameters_follow_slowly(subject, reference, gaussian):
    inputs = batches(gaussian)
    both = pair(subject, reference, decay=0.93)
    for module in both:
        steps(module, inputs)
    for part in ("twin", "online"):
        item = f"after four steps: parameter of {part}"
        compare(both[0].call("parameters_of", part=part), both[1].call("parameters_of", part=part), item)


def test_a_batch_moves_the_averages_a_little(subject, reference, gaussian):
    both = pair(subject, reference)
    for x in batches(gaussian):
        ours, theirs = (train_on(module, x) for module in both)
        compare(ours, theirs, "in training mode: output")
        item = "after a batch in training mode: the running mean and variance of online,"
        compare(both[0].call("averages"), both[1].call("averages"), item)


def test_the_twin_takes_no_gradient(subject, gaussian):
    module = subject.build(ARGUMENTS)
    passed = module.differentiate([torch.ones(B, 1)], x=gaussian(B, W))
    reached = [name for name, gradient in passed.parameters.items() if gradient is not None and bool(gradient.any())]
    if reached:
        raise Failure("gradient", f"in eval mode: expected no gradient for any parameter, got one for {reached[0]}")


def test_the_other_still_learns_after_following(subject, reference, gaussian):
    both = pair(subject, reference)
    for module in both:
        steps(module, batches(gaussian))
        module.training = True
    x = gaussian(B, W)
    expected = both[1].differentiate(None, x=x)
    compare_gradients(both[0].differentiate(expected.cotangents, x=x).parameters, expected.parameters)


def test_what_the_other_learns_after_following_leaves_the_twin_alone(subject, gaussian):
    for decay in (0.0, 0.7):
        module = subject.build({**ARGUMENTS, "decay": decay}, probe=PROBE, entry="Variation")
        steps(module, batches(gaussian))
        left = module.call("state_of", part="twin")
        train_on(module, gaussian(B, W))
        module.call("shake")
        compare(
            module.call("state_of", part="twin"), left, f"decay={decay}, trained on without following: the twin's value"
        )
