"""Send models and optimizers that a test has built of torch's own classes to the subject's worker, and back.

A training step gets them as arguments. They travel as data: the names of classes in `torch.nn` and `torch.optim`, plain
attributes, and tensors. The same functions pack and unpack them on both sides.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from grader.sandbox.traps.messages import Layer, Pairs, Shipped
from grader.sandbox.traps.values import Reader, Writer

INNER = ("training", "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")
HOOKS_OF_MODELS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
HOOKS_OF_PARAMETERS = ("_backward_hooks", "_post_accumulate_grad_hooks")
HOOKS_OF_OPTIMIZERS = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
PLAIN = (bool, int, float, str, tuple, list, type(None), torch.dtype)


class NotShippedError(TypeError):
    """A model or an optimizer of the test has parts that are not torch's own."""


def require_unaltered(value: Any) -> None:
    """Raise `NotShippedError` for a model or an optimizer of the test with hooks or replaced methods, which the subject
    would not call.
    """
    if isinstance(value, torch.optim.Optimizer):
        kind, has_hooks, is_altered = "an optimizer", _has_any(value, HOOKS_OF_OPTIMIZERS), _replaces_a_method(value)
    else:
        kind, parts = "a model", [*value.modules()]
        has_hooks = any(_has_any(part, HOOKS_OF_MODELS) for part in parts)
        has_hooks = has_hooks or any(_has_any(each, HOOKS_OF_PARAMETERS) for each in value.parameters())
        is_altered = any(map(_replaces_a_method, parts))
    if has_hooks or is_altered:
        found = "hooks" if has_hooks else "replaced methods"
        raise NotShippedError(
            f"the subject cannot get {kind} with {found}; remove them, or compare the weights before and after the call"
        )


def _replaces_a_method(value: Any) -> bool:
    """Return whether an object has a function of its own in place of a method; schedulers of torch may have set it."""
    return any(
        callable(each) and callable(getattr(type(value), name, None)) and not hasattr(each, "_wrapped_by_lr_sched")
        for name, each in vars(value).items()
    )


def _has_any(value: Any, names: Sequence[str]) -> bool:
    return any(getattr(value, name, None) for name in names)


def pack(value: Any, writer: Writer) -> Shipped:
    """Return the data of a model or an optimizer; raise `NotShippedError` for one that is not torch's own."""
    if isinstance(value, torch.optim.Optimizer):
        return _pack_optimizer(value, writer)
    layers = [_layer(path, part, writer) for path, part in value.named_modules()]
    return Shipped(layers=layers, gradients=_gradients(value.parameters(), writer))


def _gradients(parameters: Any, writer: Writer) -> list[tuple[int, int]]:
    return [(writer.place(each), writer.place(each.grad)) for each in parameters if each.grad is not None]


def _layer(path: str, part: torch.nn.Module, writer: Writer) -> Layer:
    kind = type(part)
    if getattr(torch.nn, kind.__name__, None) is not kind:
        raise NotShippedError(
            f"the subject cannot get a model with a layer of type {kind.__name__}; "
            "build the model of torch.nn's own layers, such as nn.Sequential"
        )
    plain = {name: value for name, value in vars(part).items() if name not in INNER and type(value) in PLAIN}
    attributes = writer.value(plain)
    return Layer(
        path=path,
        type=kind.__name__,
        attributes=attributes if isinstance(attributes, Pairs) else Pairs(items=[]),
        training=part.training,
        parameters=[
            (name, -1 if each is None else writer.place(each))
            for name, each in part._parameters.items()  # noqa: SLF001 - the layer's own parameters, with None
        ],
        buffers=[
            (name, -1 if each is None else writer.place(each))
            for name, each in part._buffers.items()  # noqa: SLF001 - as above
        ],
    )


def _pack_optimizer(value: torch.optim.Optimizer, writer: Writer) -> Shipped:
    kind = type(value)
    if getattr(torch.optim, kind.__name__, None) is not kind:
        raise NotShippedError(
            f"the subject cannot get an optimizer of type {kind.__name__}; give it one of torch.optim"
        )
    groups = [{**group, "params": list(group["params"])} for group in value.param_groups]
    state = [[parameter, dict(entries)] for parameter, entries in value.state.items()]
    return Shipped(optimizer=kind.__name__, groups=writer.value(groups), state=writer.value(state))


def unpack(shipped: Shipped, reader: Reader) -> Any:
    """Return a new model for its data, or an optimizer, which `connect` fills."""
    if shipped.optimizer:
        return None
    parts: dict[str, torch.nn.Module] = {}
    for layer in shipped.layers:
        parts[layer.path] = _new_layer(layer, reader)
        if layer.path:
            parent, _, name = layer.path.rpartition(".")
            parts[parent]._modules[name] = parts[layer.path]  # noqa: SLF001 - also for names that are numbers
    for parameter, gradient in shipped.gradients:
        reader.tensors[parameter].grad = reader.tensors[gradient].detach().clone()
    return parts[""]


def _new_layer(layer: Layer, reader: Reader) -> torch.nn.Module:
    kind = getattr(torch.nn, layer.type, None)
    if not (isinstance(kind, type) and issubclass(kind, torch.nn.Module)):
        raise NotShippedError(f"there is no layer torch.nn.{layer.type}")
    part: torch.nn.Module = kind.__new__(kind)
    torch.nn.Module.__init__(part)
    for name, value in reader.value(layer.attributes).items():
        vars(part)[str(name)] = value
    part.training = layer.training
    for name, place in layer.parameters:
        part._parameters[name] = None if place < 0 else _as_parameter(reader, place)  # noqa: SLF001 - may be None
    for name, place in layer.buffers:
        part._buffers[name] = None if place < 0 else reader.tensors[place].detach()  # noqa: SLF001 - may be None
    return part


def _as_parameter(reader: Reader, place: int) -> torch.nn.Parameter:
    tensor = reader.tensors[place]
    if not isinstance(tensor, torch.nn.Parameter):
        tensor = torch.nn.Parameter(tensor.detach(), requires_grad=reader.requires_grad[place])
        reader.tensors[place] = tensor
    return tensor


def connect(models: list[Any], shipped: Sequence[Shipped], reader: Reader) -> None:
    """Make the optimizers of a message, once the models whose parameters they have exist."""
    for number, each in enumerate(shipped):
        if each.optimizer:
            models[number] = _new_optimizer(each, reader)


def _new_optimizer(shipped: Shipped, reader: Reader) -> torch.optim.Optimizer:
    kind = getattr(torch.optim, shipped.optimizer, None)
    if not (isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)):
        raise NotShippedError(f"there is no optimizer torch.optim.{shipped.optimizer}")
    make: Callable[..., torch.optim.Optimizer] = kind
    groups = reader.value(shipped.groups)
    options = {"lr": groups[0]["lr"]} if "lr" in groups[0] else {}  # some optimizers require a learning rate
    optimizer = make([{"params": group["params"]} for group in groups], **options)
    for own, given in zip(optimizer.param_groups, groups, strict=True):
        own.update({name: value for name, value in given.items() if name != "params"})
    for parameter, entries in reader.value(shipped.state):
        optimizer.state[parameter] = entries
    return optimizer


def copy_back(target: Any, source: Any) -> None:
    """Give the test's own model or optimizer the state that it has after the subject's call."""
    if isinstance(target, torch.optim.Optimizer):
        _copy_optimizer(target, source)
        return
    with torch.no_grad():
        for own, other in zip(target.modules(), source.modules(), strict=True):
            own.training = other.training
            for name, buffer in other._buffers.items():  # noqa: SLF001 - may be None
                if buffer is not None and own._buffers.get(name) is not None:  # noqa: SLF001 - as above
                    own._buffers[name].data = buffer.data  # noqa: SLF001 - as above
        for own, other in zip(target.parameters(), source.parameters(), strict=True):
            own.data = other.data
            own.requires_grad_(other.requires_grad)
            own.grad = None if other.grad is None else other.grad.detach()


def _copy_optimizer(target: torch.optim.Optimizer, source: torch.optim.Optimizer) -> None:
    own = [each for group in target.param_groups for each in group["params"]]
    others = [each for group in source.param_groups for each in group["params"]]
    for mine, theirs in zip(target.param_groups, source.param_groups, strict=True):
        mine.update({name: value for name, value in theirs.items() if name != "params"})
    target.state.clear()
    for mine_parameter, other in zip(own, others, strict=True):
        if other in source.state:
            target.state[mine_parameter] = source.state[other]
