"""What happens later than in the first steps: pauses, checkpoints, many steps, and settings that differ."""

# S steps, C numbers of a parameter, N groups

import torch

from grader.checks.compare import Failure, Tolerance, compare, number

S, C, N = 6, 4, 20
RESTS = [2, 4, 5]
MANY = 1030
COPIES = 35_000
EXACT = Tolerance(relative=1e-12, absolute=1e-13)
PROBE = """
import copy


def parameter(start):
    return torch.nn.Parameter(start.detach().clone())


class Variation(torch.nn.Module):
    def rest(self, start, gradients, rests):
        one, other = parameter(start), parameter(start)
        optimizer = submission.PocketAdamW([one, other], lr=0.1, betas=(0.7, 0.8), weight_decay=0.5)
        seen = [one.detach().clone()]
        for step, gradient in enumerate(gradients):
            one.grad = None if step in rests else gradient.clone()
            other.grad = gradient.clone()
            optimizer.step()
            seen.append(one.detach().clone())
        return torch.stack(seen)

    def resume(self, start, gradients, is_used):
        def new(parameters, **settings):
            groups = [{"params": parameters[:2]}, {"params": parameters[2:], "lr": 0.3, "betas": (0.6, 0.9)}]
            return submission.PocketAdamW(groups, **settings)

        def step(optimizer, parameters, index):
            for place, each in enumerate(parameters):
                each.grad = (place + 1) * gradients[index] if index >= 2 * place else None
            optimizer.step()
            return [each.detach().clone() for each in parameters]

        parameters = [parameter(start + place) for place in range(3)]
        optimizer = new(parameters, lr=0.05, betas=(0.8, 0.95), eps=0.01, weight_decay=0.1)
        for index in range(3):
            step(optimizer, parameters, index)
        optimizer.param_groups[0] |= {"lr": 0.2, "eps": 0.3, "weight_decay": 0.4}
        optimizer.param_groups[1]["weight_decay"] = 0.7
        saved = copy.deepcopy(optimizer.state_dict())
        copies = [parameter(each) for each in parameters]
        later = submission.PocketAdamW([{"params": copies[:2]}, {"params": copies[2:]}], lr=0.4)
        if is_used:
            for each in copies:
                each.grad = torch.ones_like(each)
            later.step()
            with torch.no_grad():
                for each, value in zip(copies, parameters):
                    each.copy_(value)
        later.load_state_dict(saved)
        return [
            [step(one, each, index) for index in range(3, len(gradients))]
            for one, each in ((optimizer, parameters), (later, copies))
        ]

    def walk_far(self, start, steps):
        one = parameter(start)
        optimizer = submission.PocketAdamW([one], lr=0.1, betas=(0.99, 0.9999), weight_decay=0.0)
        one.grad = torch.ones_like(one)
        for step in range(steps):
            one.grad.fill_(1.0 + step % 3)
            optimizer.step()
        return one.detach()

    def spread(self, start, gradient, copies):
        small, large = parameter(start), parameter(start.expand(copies, -1))
        small.grad, large.grad = gradient.clone(), gradient.expand(copies, -1).clone()
        for each in (small, large):
            optimizer = submission.PocketAdamW([each], lr=0.3)
            optimizer.step()
        off = (large.detach() - small.detach()).abs().amax(dim=1)
        return small.detach(), large.detach()[off.argmax()]

    def mix(self, start, gradient, others):
        one = parameter(start.double())
        parameters = [*(parameter(start) for _ in range(others)), one]
        optimizer = submission.PocketAdamW(parameters, lr=0.1)
        for step in range(2):
            for each in parameters:
                each.grad = (gradient.double() / (3 + step)).to(each.dtype)
            optimizer.step()
        return one.detach()

    def step_with(self, start, gradient, settings, is_by_position):
        one = parameter(start)
        positional, keywords = (settings.values(), {}) if is_by_position else ((), settings)
        optimizer = submission.PocketAdamW([one], *positional, **keywords)
        one.grad = gradient.clone()
        optimizer.step()
        return one.detach()

    def begin_with_zeros(self, start, gradient):
        one = parameter(start)
        optimizer = submission.PocketAdamW([one], lr=0.0, betas=(0.0, 0.0), eps=0.0, weight_decay=0.0)
        for step in range(3):
            optimizer.param_groups[0] |= {"lr": 0.1 * step, "weight_decay": 0.2 * step, "eps": 0.1 * step}
            one.grad = (step + 1) * gradient
            optimizer.step()
        return one.detach()

    def step_in_groups(self, start, gradient, count):
        parameters = [parameter(start) for _ in range(count)]
        groups = [{"params": [each], "lr": 0.01 * (index + 1)} for index, each in enumerate(parameters)]
        optimizer = submission.PocketAdamW(groups, weight_decay=0.0)
        for each in parameters:
            each.grad = gradient.clone()
        optimizer.step()
        return [each.detach() for each in parameters]
"""


def build(factory):
    return factory.build({}, probe=PROBE, entry="Variation")


def test_a_parameter_without_a_gradient_is_left_alone_later_too(subject, gaussian):
    module, start, gradients = build(subject), gaussian(C), gaussian(S, C)
    walked = module.call("rest", start=start, gradients=gradients, rests=RESTS)
    for step in RESTS:
        if not torch.equal(walked[step], walked[step + 1]):
            change = float((walked[step + 1] - walked[step]).abs().max())
            raise Failure(
                "rest",
                f"step {step}, in which a parameter that had gradients before has none: expected the parameter to stay "
                f"as it was, but it changes by up to {number(change)}",
            )
    moving = [step for step in range(S) if step not in RESTS]
    straight = module.call("rest", start=start, gradients=gradients[moving], rests=[])
    item = (
        f"after {len(moving)} steps with a gradient and {len(RESTS)} without, compared with the former alone: parameter"
    )
    compare(walked[-1], straight[-1], item)


def test_a_loaded_state_goes_on_as_if_nothing_had_happened(subject, gaussian):
    module, start, gradients = build(subject), gaussian(C), gaussian(S, C)
    for is_used in (False, True):
        expected, seen = module.call("resume", start=start, gradients=gradients, is_used=is_used)
        whose = "one with steps of its own" if is_used else "a new one"
        for step, (ours, theirs) in enumerate(zip(seen, expected, strict=True)):
            item = f"settings changed, and the state dict loaded into {whose}, step {3 + step}: parameter"
            compare(ours, theirs, item)


def test_the_correction_lasts_for_many_steps(subject, reference):
    start = torch.zeros((), dtype=torch.float64)
    ours, theirs = (build(factory).call("walk_far", start=start, steps=MANY) for factory in (subject, reference))
    compare(ours, theirs, f"{MANY} steps of one number with betas=(0.99, 0.9999): the number")


def test_a_large_parameter_moves_as_a_small_one_does(subject, gaussian):
    small, large = build(subject).call("spread", start=gaussian(C), gradient=gaussian(C), copies=COPIES)
    compare(large, small, f"a parameter of {COPIES * C:,} numbers, compared with one of {C} of them: values")


def test_a_parameter_in_float64_may_be_beside_others(subject, gaussian):
    module, start, gradient = build(subject), gaussian(C), gaussian(C)
    beside, alone = (module.call("mix", start=start, gradient=gradient, others=count) for count in (1, 0))
    compare(beside, alone, "beside a parameter in float32, compared with no other: parameter in float64", EXACT)


def test_settings_by_position_have_the_order_of_the_interface(subject, gaussian):
    module, start, gradient = build(subject), gaussian(C), gaussian(C)
    settings = {"lr": 0.1, "betas": (0.6, 0.8), "eps": 0.7, "weight_decay": 0.3}
    by_position, by_keyword = (
        module.call("step_with", start=start, gradient=gradient, settings=settings, is_by_position=is_by_position)
        for is_by_position in (True, False)
    )
    compare(by_position, by_keyword, "settings by position, compared with the same by keyword: parameter")


def test_settings_may_begin_as_zeros(subject, reference, gaussian):
    start, gradient = gaussian(C), gaussian(C)
    ours, theirs = (
        build(factory).call("begin_with_zeros", start=start, gradient=gradient) for factory in (subject, reference)
    )
    compare(ours, theirs, "lr=0, betas=(0, 0), eps=0 and weight_decay=0, then other values but for betas: parameter")


def test_each_of_many_groups_takes_its_step(subject, reference, gaussian):
    start, gradient = gaussian(C), gaussian(C)
    ours, theirs = (
        build(factory).call("step_in_groups", start=start, gradient=gradient, count=N)
        for factory in (subject, reference)
    )
    compare(ours, theirs, f"one step with {N} groups: parameter of group")
