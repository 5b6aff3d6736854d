"""Steps, and what the twin makes of them."""

# B batch, W width, H hidden

import torch

from grader.checks.compare import Failure, Tolerance, compare, compare_gradient, compare_gradients

B, W, H = 6, 3, 5
ARGUMENTS = {"width": W, "hidden": H, "decay": 0.7}
EXACT = Tolerance(relative=1e-9, absolute=1e-6)
DECAYS = [0.0, 0.7, 1.0]
MANY = 1100
PROBE = """
class Variation(submission.CalmNetwork):
    def new(self, width, hidden, decay):
        made = submission.CalmNetwork(width, hidden, decay)
        return [[value.detach().clone() for value in each.state_dict().values()] for each in (made.twin, made.online)]

    def averages(self):
        norm = next(m for m in self.online.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm))
        return [norm.running_mean.clone(), norm.running_var.clone()]

    def shake(self):
        with torch.no_grad():
            for parameter in self.online.parameters():
                parameter.mul_(1.5).add_(0.25)

    def follow_far(self, freezes):
        # in float64: the twin's parameters before following and after it, and those that it follows
        self.double()
        for index, parameter in enumerate(self.online.parameters()):
            parameter.data += 1e6 * (index + 1)
            parameter.requires_grad_(not freezes)
        before = self.parameters_of("twin")
        self.follow()
        found = before, self.parameters_of("twin"), self.parameters_of("online")
        self.online.requires_grad_(True)
        self.float()
        return found

    def gradients_of_online(self, x, follows):
        self.zero_grad()
        self(x).square().sum().backward()
        if follows:
            self.follow()
        return [parameter.grad for parameter in self.online.parameters()]

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


def test_a_new_twin_equals_the_other(subject):
    twin, online = subject.build(ARGUMENTS, probe=PROBE, entry="Variation").call("new", **ARGUMENTS)
    compare(twin, online, "a new network: tensor of twin compared with that of online,")


def test_the_twins_buffers_are_the_others(subject, reference, gaussian):
    for decay in DECAYS:
        ours, _ = pair(subject, reference, decay)
        steps(ours, batches(gaussian))
        seen, expected = (ours.call("buffers_of", part=part) for part in ("twin", "online"))
        compare(seen, expected, f"decay={decay}, after following: buffer")


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


def test_any_decay_is_the_share_that_the_twin_keeps(subject):
    for decay in (0.0, 0.3, 0.99999, 1.0):
        module = subject.build({**ARGUMENTS, "decay": decay}, probe=PROBE, entry="Variation")
        for freezes in (False, True):
            before, after, online = module.call("follow_far", freezes=freezes)
            expected = [decay * mine + (1 - decay) * theirs for mine, theirs in zip(before, online, strict=True)]
            state = "frozen and " * freezes + "far from the twin"
            compare(after, expected, f"decay={decay}, online {state}, after following: parameter of twin", EXACT)


def test_a_batch_moves_the_averages_a_little(subject, reference, gaussian):
    both = pair(subject, reference)
    for x in (*batches(gaussian), gaussian(MANY, W)):
        ours, theirs = (train_on(module, x) for module in both)
        compare(ours, theirs, "in training mode: output")
        item = "after a batch in training mode: the running mean and variance of online,"
        compare(both[0].call("averages"), both[1].call("averages"), item)


def test_the_twin_takes_no_gradient(subject, gaussian):
    for decay in DECAYS:
        module = subject.build({**ARGUMENTS, "decay": decay})
        for state in ("new", "after following"):
            passed = module.differentiate([torch.ones(B, 1)], x=gaussian(B, W))
            reached = [
                name for name, gradient in passed.parameters.items() if gradient is not None and bool(gradient.any())
            ]
            if reached:
                text = f"decay={decay}, {state}, in eval mode: expected no gradient for any parameter"
                raise Failure("gradient", f"{text}, got one for {reached[0]}")
            module.call("follow")


def test_the_other_still_learns_after_following(subject, reference, gaussian):
    both = pair(subject, reference)
    for module in both:
        steps(module, batches(gaussian))
        module.training = True
    x = gaussian(B, W)
    expected = both[1].differentiate(None, x=x)
    compare_gradients(both[0].differentiate(expected.cotangents, x=x).parameters, expected.parameters)


def test_the_other_learns_from_inputs_that_take_no_gradient(subject, reference, gaussian):
    both, x = pair(subject, reference), gaussian(B, W)
    for module in both:
        module.training = True
    seen, expected = (module.call("gradients_of_online", x=x, follows=False) for module in both)
    for index, (ours, theirs) in enumerate(zip(seen, expected, strict=True)):
        compare_gradient(ours, theirs, f"parameter {index} of online, in training mode")


def test_following_leaves_the_others_gradients(subject, reference, gaussian):
    (module, _), x = pair(subject, reference), gaussian(B, W)
    module.training = True
    expected, seen = (module.call("gradients_of_online", x=x, follows=follows) for follows in (False, True))
    for index, (after, before) in enumerate(zip(seen, expected, strict=True)):
        if not isinstance(after, torch.Tensor):
            text = f"follow: expected the gradient of online's parameter {index} to stay as it is, but it is gone"
            raise Failure("gradient", text)
        compare_gradient(after, before, f"parameter {index} of online, after follow()")


def test_what_the_other_learns_leaves_the_twin_alone(subject, gaussian):
    for decay in (0.0, 0.7):
        for follows in (False, True):
            module = subject.build({**ARGUMENTS, "decay": decay}, probe=PROBE, entry="Variation")
            steps(module, batches(gaussian) if follows else [])
            left = module.call("state_of", part="twin")
            train_on(module, gaussian(B, W))
            module.call("shake")
            state = "then trained on without following" if follows else "new, and trained without following"
            compare(module.call("state_of", part="twin"), left, f"decay={decay}, {state}: the twin's value")
