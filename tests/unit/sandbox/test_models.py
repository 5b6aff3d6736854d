"""Models and optimizers of a test, as a subject gets them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.support.remotes import remote_of


def two_models() -> tuple[torch.nn.Linear, torch.nn.Linear]:
    models = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    for number, model in enumerate(models):
        torch.nn.init.constant_(model.weight, float(number))
        torch.nn.init.zeros_(model.bias)
    return models


@pytest.mark.parametrize("container", [list, tuple, lambda models: dict(zip("ab", models, strict=True))])
def test_each_model_in_a_container_is_the_one_that_the_test_passed(container: Any) -> None:
    def subject(models: Any, optimizer: Any, first: Any) -> list[float]:
        every = models.values() if isinstance(models, dict) else models
        owned = optimizer.param_groups[0]["params"][0].detach().sum()
        return [float(model(torch.ones(1, 2)).detach()) for model in [*every, first]] + [float(owned)]

    first, second = two_models()
    optimizer = torch.optim.SGD(second.parameters(), lr=0.1)
    remote = remote_of(subject)
    assert remote.act("build", [container((first, second)), optimizer, first]) == [0.0, 2.0, 0.0, 2.0]
    assert remote.act("build", [container((second, first)), optimizer, second]) == [2.0, 0.0, 2.0, 2.0]


def test_a_function_of_a_test_cannot_return_a_model() -> None:
    remote = remote_of(lambda function: function())
    with pytest.raises(TypeError, match="cannot return a model"):
        remote.act("build", [lambda: two_models()[0]])


HOOKS: dict[str, Callable[[torch.nn.Module], Any]] = {
    "forward": lambda model: model.register_forward_hook(print),
    "forward_pre": lambda model: model.register_forward_pre_hook(print),
    "full_backward": lambda model: model.register_full_backward_hook(print),
    "full_backward_pre": lambda model: model.register_full_backward_pre_hook(print),
    "of a parameter": lambda model: next(model.parameters()).register_hook(print),
}


@pytest.mark.parametrize("kind", HOOKS)
def test_a_model_with_a_hook_is_refused(kind: str) -> None:
    def subject(model: Any) -> float:
        return float(model(torch.ones(1, 2)).detach())

    model = two_models()[1]
    handle = HOOKS[kind](model)
    remote = remote_of(subject)
    with pytest.raises(TypeError, match="the subject cannot get a model with hooks; remove them, or compare"):
        remote.act("build", [torch.nn.Sequential(model)])
    handle.remove()
    assert remote.act("build", [torch.nn.Sequential(model)]) == 2.0


def test_an_optimizer_with_a_hook_is_refused() -> None:
    optimizer = torch.optim.SGD(two_models()[1].parameters(), lr=0.1)
    optimizer.register_step_post_hook(print)
    with pytest.raises(TypeError, match="the subject cannot get an optimizer with hooks"):
        remote_of(lambda _optimizer: None).act("build", [optimizer])


def test_an_optimizer_with_a_replaced_method_is_refused_unless_a_scheduler_of_torch_replaced_it() -> None:
    model = two_models()[1]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.optim.lr_scheduler.StepLR(optimizer, 1)
    remote = remote_of(lambda _: 1.0)
    assert remote.act("build", [optimizer]) == 1.0
    optimizer.step = lambda: None  # type: ignore[method-assign]
    with pytest.raises(TypeError, match="the subject cannot get an optimizer with replaced methods"):
        remote.act("build", [optimizer])
    model.forward = lambda x: x
    with pytest.raises(TypeError, match="the subject cannot get a model with replaced methods"):
        remote.act("build", [model])


def test_a_hook_of_the_subject_stays_with_the_subject() -> None:
    def subject(model: Any) -> None:
        model.register_forward_hook(lambda *_: None)

    model = two_models()[0]
    remote_of(subject).act("build", [model])
    assert not model._forward_hooks


class Own(torch.nn.Linear):
    """A layer of the test's own class."""


def test_a_model_of_an_own_class_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^the subject cannot get a model with a layer of type Own; build"):
        remote_of(lambda _model: None).act("build", [Own(1, 1)])
