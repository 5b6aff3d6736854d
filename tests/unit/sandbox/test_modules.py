"""A module of the subject, as a test uses it."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

from tests.support.remotes import subject_of


class Pair(nn.Module):
    """Two layers, a buffer, and a view as the output."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(3, 2), nn.Linear(2, 3)
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.up(self.down(x)).view(-1, 3)


def pair() -> Any:
    return subject_of(Pair)()


def ones() -> torch.Tensor:
    return torch.ones(2, 3)


def test_a_copy_has_weights_and_gradients_of_its_own() -> None:
    module = pair()
    nn.init.constant_(module.up.bias, 2.0)
    other = copy.deepcopy(module)
    assert isinstance(other, nn.Module)
    assert torch.equal(other(ones()), module(ones()))
    nn.init.constant_(other.up.bias, 3.0)
    torch.testing.assert_close(other(ones()), module(ones()) + 1)
    other(ones()).sum().backward()
    assert other.up.bias.grad.tolist() == [2.0, 2.0, 2.0]
    assert module.up.bias.grad is None


def test_a_part_can_be_copied() -> None:
    module = pair()
    other, again = copy.deepcopy([module.up, module.up])
    assert isinstance(other, nn.Linear)
    assert other is again
    assert [name for name, _ in other.named_parameters()] == ["weight", "bias"]
    nn.init.zeros_(other.weight)
    assert module.up.weight.abs().sum() > 0


class Scale:
    """A plain object."""

    def __init__(self, factor: float) -> None:
        self.factor = factor


def test_a_plain_object_can_be_copied() -> None:
    scale = subject_of(Scale)(2.0)
    other = copy.deepcopy(scale)
    other.factor = 3.0
    assert (scale.factor, other.factor) == (2.0, 3.0)


def test_outputs_can_be_written_to() -> None:
    module = pair()
    for write in (
        lambda output: output.__setitem__(0, 0.0),
        lambda output: output.add_(1),
        lambda output: output[:, 1].mul_(2),
    ):
        ours, theirs = module(ones()), torch.ones(2, 3, requires_grad=True) * 1
        with torch.no_grad():
            theirs.copy_(ours)
        write(ours)
        write(theirs)
        assert torch.equal(ours, theirs)
    output = module(ones())
    output[0] = 0.0
    output.sum().backward()
    assert module.up.bias.grad.tolist() == [1.0, 1.0, 1.0]


def transposed(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.mT * 2, (x * 2)[:, :1].expand(-1, 3)


def test_outputs_keep_their_strides() -> None:
    for output, expected in zip(subject_of(transposed)(ones().requires_grad_()), transposed(ones()), strict=True):
        assert output.requires_grad
        assert output.stride() == expected.stride()
        assert torch.equal(output, expected)


def test_loading_names_missing_and_unexpected_keys() -> None:
    module = pair()
    state = {name: each for name, each in module.state_dict().items() if name != "up.bias"} | {"more": torch.ones(1)}
    keys = module.load_state_dict(state, strict=False)
    assert keys.missing_keys == ["up.bias"]
    assert keys.unexpected_keys == ["more"]
    missing, _unexpected = keys
    assert missing == ["up.bias"]
    assert str(module.load_state_dict(module.state_dict())) == "<All keys matched successfully>"


def test_a_part_is_always_the_same_object() -> None:
    module = pair()
    assert module.up is module.up
    assert module.up is not module.down
    assert module in list(module.modules())
    assert module.up in list(module.modules())
    assert {module.up: 1}[module.get_submodule("up")] == 1


def test_names_have_prefixes_as_in_torch() -> None:
    ours, theirs = pair(), Pair()
    for names in (
        lambda module: [name for name, _ in module.named_modules(prefix="p")],
        lambda module: [name for name, _ in module.named_buffers(prefix="p", recurse=False)],
        lambda module: [name for name, _ in module.named_buffers("p")],
        lambda module: [name for name, _ in module.named_parameters("p", recurse=False)],
        lambda module: [*module.state_dict(prefix="p.")],
        lambda module: [each.shape for each in module.buffers(recurse=False)],
        lambda module: [name for name, _ in module.norm.named_modules(prefix="p")],
    ):
        assert names(ours) == names(theirs)


def test_state_dict_keeps_variables() -> None:
    module = pair()
    assert module.state_dict(keep_vars=True)["up.weight"] is module.up.weight
    assert not module.state_dict()["up.weight"].requires_grad


def test_a_module_takes_a_dtype() -> None:
    module = pair()
    assert module.type(torch.float64) is module
    assert module.up.weight.dtype == torch.float64


@pytest.mark.parametrize("method", ["get_submodule", "get_parameter", "get_buffer"])
def test_a_missing_part_is_an_attribute_error(method: str) -> None:
    with pytest.raises(AttributeError, match="zzz"):
        getattr(pair(), method)("zzz")
    assert pair().get_buffer("norm.running_mean").shape == (3,)


def test_a_hook_can_be_removed() -> None:
    module, shapes = pair(), []
    handle = module.up.register_forward_hook(lambda _module, _inputs, output: shapes.append(tuple(output.shape)))
    module(ones())
    handle.remove()
    module(ones())
    assert shapes == [(2, 3)]


def test_an_object_of_an_earlier_run_is_refused() -> None:
    subject = subject_of(Pair)
    module = subject()
    subject._remote.begin()
    with pytest.raises(RuntimeError, match="built in an earlier test; build it in the test that uses it"):
        module(ones())
    with pytest.raises(RuntimeError, match="built in an earlier test"):
        module.parameters()
