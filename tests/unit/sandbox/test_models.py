"""Models and optimizers of a test, as a subject gets them."""

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
