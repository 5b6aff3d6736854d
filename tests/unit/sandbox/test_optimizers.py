"""An optimizer of the subject, as a test uses it."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.optim import lr_scheduler as schedules

from tests.support.remotes import subject_of


class Descent(torch.optim.Optimizer):
    """Gradient descent with a count of each parameter's steps."""

    def __init__(self, params: Any, lr: Any = 0.5) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for each in group["params"]:
                if each.grad is not None:
                    each.sub_(group["lr"] * each.grad)
                    self.state[each]["count"] = self.state[each].get("count", 0) + 1
        return loss


def one() -> torch.nn.Parameter:
    parameter = torch.nn.Parameter(torch.ones(1))
    parameter.grad = torch.ones(1)
    return parameter


def test_a_changed_learning_rate_takes_effect() -> None:
    parameter = one()
    optimizer = subject_of(Descent)([parameter], lr=0.5)
    optimizer.param_groups[0]["lr"] = 0.25
    assert optimizer.param_groups[0]["lr"] == 0.25
    optimizer.step()
    assert parameter.item() == 0.75
    for group in optimizer.param_groups:
        group["lr"] *= 2
    optimizer.step()
    assert parameter.item() == 0.25


def test_a_learning_rate_may_be_a_tensor() -> None:
    parameter = one()
    optimizer = subject_of(Descent)([parameter], lr=torch.tensor(0.5))
    optimizer.param_groups[0]["lr"].fill_(0.25)
    optimizer.step()
    assert parameter.item() == 0.75


def test_an_entry_may_be_a_list_of_tensors_or_an_object() -> None:
    class Described(Descent):
        def __init__(self, params: Any) -> None:
            super().__init__(params)
            self.param_groups[0].update(scales=[torch.ones(2), torch.ones(3)], owner=object(), betas=(0.5, 0.5))

        def scales(self) -> list[Any]:
            group = self.param_groups[0]
            return [[each.tolist() for each in group["scales"]], list(group["betas"]), type(group["owner"]) is object]

    optimizer = subject_of(Described)([one()])
    optimizer.param_groups[0]["scales"][0][1] = 2.0
    optimizer.param_groups[0]["betas"] = (0.5, 0.25)
    assert optimizer.scales() == [[[1.0, 2.0], [1.0, 1.0, 1.0]], [0.5, 0.25], True]


def test_a_new_entry_of_a_group_stays() -> None:
    optimizer = subject_of(Descent)([one()])
    optimizer.param_groups[0]["initial_lr"] = 2.0
    optimizer.step()
    assert optimizer.param_groups[0]["initial_lr"] == 2.0
    assert optimizer.state_dict()["param_groups"][0]["initial_lr"] == 2.0


def test_groups_change_with_a_loaded_state() -> None:
    subject = subject_of(Descent)
    first, second = subject([one()], lr=0.25), subject([one()])
    group = second.param_groups[0]
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    assert second.param_groups[0]["lr"] == group["lr"] == 0.25


SCHEDULERS: dict[str, Callable[[Any], Any]] = {
    "steps": lambda optimizer: schedules.StepLR(optimizer, 1, gamma=0.5),
    "function": lambda optimizer: schedules.LambdaLR(optimizer, lambda step: 1 / (1 + step)),
    "cosine": lambda optimizer: schedules.CosineAnnealingLR(optimizer, 4),
    "sequence": lambda optimizer: schedules.SequentialLR(
        optimizer, [schedules.ConstantLR(optimizer), schedules.ExponentialLR(optimizer, 0.5)], [2]
    ),
}


def rates_of(optimizer: Any, parameter: torch.Tensor, scheduler: str) -> list[tuple[float, float]]:
    """Return the parameter's value and the learning rate after each of four steps."""
    schedule = SCHEDULERS[scheduler](optimizer)
    rates = []
    for _ in range(4):
        optimizer.step()
        schedule.step()
        rates.append((parameter.item(), optimizer.param_groups[0]["lr"]))
    return rates


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_schedulers_of_torch_work(scheduler: str) -> None:
    first, second = one(), one()
    expected = rates_of(Descent([first]), first, scheduler)
    assert rates_of(subject_of(Descent)([second]), second, scheduler) == expected


def test_an_optimizer_knows_the_parameters_of_the_test() -> None:
    parameter, other = one(), one()
    optimizer = subject_of(Descent)([parameter])
    assert isinstance(optimizer, torch.optim.Optimizer)
    assert optimizer.param_groups[0]["params"][0] is parameter
    assert len(optimizer.state) == 0
    optimizer.step()
    assert optimizer.state[parameter] == {"count": 1}
    assert optimizer.state[other] == {}


def test_the_parameters_of_a_model_are_updated() -> None:
    model = torch.nn.Linear(2, 1)
    before = [each.detach().clone() for each in model.parameters()]
    optimizer = subject_of(Descent)(model.parameters())
    for each in model.parameters():
        each.grad = torch.ones_like(each)
    optimizer.step()
    for each, value in zip(model.parameters(), before, strict=True):
        torch.testing.assert_close(each.detach(), value - 0.5)


def test_a_plain_tensor_with_gradients_is_updated() -> None:
    weight = torch.ones(1, requires_grad=True)
    optimizer = subject_of(Descent)([weight])
    (3 * weight).sum().backward()
    optimizer.step()
    assert weight.item() == -0.5


def test_a_group_may_be_added() -> None:
    first, second = one(), one()
    optimizer = subject_of(Descent)([first])
    optimizer.add_param_group({"params": [second], "lr": 0.25})
    optimizer.step()
    assert [first.item(), second.item()] == [0.5, 0.75]
    assert optimizer.param_groups[1]["params"][0] is second
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [first]})


def test_a_closure_may_use_the_optimizer() -> None:
    parameter = one()
    optimizer = subject_of(Descent)([parameter])

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (3 * parameter).sum()
        loss.backward()
        return loss

    assert float(optimizer.step(closure)) == 3.0
    assert parameter.item() == -0.5


def test_a_copy_of_an_optimizer_is_refused() -> None:
    optimizer = subject_of(Descent)([one()])
    with pytest.raises(TypeError, match=r"build another one, and load its state_dict\(\)"):
        copy.deepcopy(optimizer)


class Average:
    """A plain object with parameters of the test."""

    def __init__(self, parameters: Any) -> None:
        self.parameters = list(parameters)

    def weighted(self, parameter: torch.Tensor) -> torch.Tensor:
        return 3 * parameter + 2 * self.parameters[1]


def test_gradients_reach_the_parameters_of_an_object() -> None:
    first, second = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    subject_of(Average)([first, second]).weighted(first).sum().backward()
    assert [float(each.grad) for each in (first, second)] == [3.0, 2.0]
