"""Call a module in calling variants, and check that each call leaves the module's mode as it was."""

import contextlib
import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import torch

from grader.sandbox.calling_variants import (
    Arguments,
    CallingVariant,
    Dtype,
    GradientMode,
    History,
    MemoryLayout,
    Mode,
    Scale,
    Sharing,
    VariantCall,
    from_plain,
)
from grader.sandbox.protocol import MAX_ITEMS
from grader.sandbox.subject import Subject
from grader.sandbox.values import MAX_TENSOR_BYTES, flatten, map_tensors

CANNOT_COPY = ("deepcopy protocol", "cannot pickle")
"""Parts of the error messages for objects that cannot be copied, such as a lock."""

LOSS_SCALES = (2.0**14, 2.0**-14)
"""Factors of the loss, for the two sets of inputs. A backward pass is linear, and a power of 2 rounds nothing, so the
gradients are divided by the factor again.
"""

Gradients = dict[str, torch.Tensor | None]
"""Gradients by the name of a parameter or of an input; None where nothing flows back."""

CallGradients = tuple[Gradients | None, Gradients | None]
"""The gradients of the parameters and those of the inputs; None if they are not recorded."""

NEEDS_NEW_MODULE = {
    History.RELOADED,
    History.REBUILT,
    History.SETTINGS,
    History.AFTER_OTHERS,
    History.INFERENCE_FIRST,
    History.CONVERTED,
}
BUILT_BY_POSITION = {History.REBUILT, History.SETTINGS}
"""Histories in which the arguments of the constructor are passed by position."""


def call_in_variants(
    subject: Subject,
    inputs: dict[str, Any],
    *,
    others: dict[str, Any],
    optional: dict[str, torch.Tensor],
    calls: list[Any],
    called: str,
    sample_axes: dict[str, int],
    shared: dict[str, str],
    scales: dict[str, float],
    other_arguments: Sequence[dict[str, Any]],
) -> list[Any]:
    """Return the values of the method `called`, or of the module, in several calls; `calls` are made by `to_plain`.

    There are fewer values if a later call raises, or if the reply is full. For a call whose gradients are compared, the
    value is `(value, gradients of parameters, gradients of inputs)`.

    Some calls get the inputs in `others`. One of the calls before a call with the history `AFTER_OTHERS` also gets the
    inputs in `optional`, and the module must keep nothing of it. After a module that is rebuilt, other modules are
    built and called, one for each set of constructor arguments in `other_arguments`; they must share nothing with it.
    Three arguments map an input's name: `sample_axes` to the axis of its samples, `shared` to the input that replaces
    it in calls with a shared tensor, and `scales` to its factor in calls with large inputs.
    """
    values: list[Any] = []
    size, count, doubled = 0, 0, None
    for call in from_plain(calls):
        variant = call.variant
        given = inputs_of(call, inputs, others, shared, scales)
        if variant.dtype is Dtype.FLOAT64:
            given = {name: _double(value) for name, value in given.items()}
        laid_out = {id(value): _laid_out(value, variant.layout, sample_axes.get(name)) for name, value in given.items()}
        try:
            module = doubled if doubled and _takes_doubled(variant) else _module_for(subject, variant)
            doubled = module if _takes_doubled(variant) else doubled
            given = {name: laid_out[id(each)] for name, each in given.items()}
            if variant.history is History.REBUILT:
                for arguments in other_arguments:
                    _use_another(subject, arguments, given, called)
            left_out = optional_of(variant, optional)
            value, gradients = _call_in_variant(subject, module, given, left_out, call, called)
        except BaseException:
            if not values:
                raise
            return values  # the examiner requests the remaining calls, and the first of them raises
        value = map_tensors(value, torch.clone)  # the next call may write to it
        values.append((value, *gradients) if call.compares_gradients else value)
        tensors = flatten([value, *gradients])
        size += sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        count += 2 * len(tensors)  # a gradient has a name too
        if size > MAX_TENSOR_BYTES // 2 or count > MAX_ITEMS // 2:
            break
    return values


def inputs_of(
    call: VariantCall,
    inputs: dict[str, Any],
    others: dict[str, Any],
    shared: dict[str, str],
    scales: dict[str, float],
) -> dict[str, Any]:
    """Return the inputs of a call in the usual dtype and memory layout; arguments as for `call_in_variants`."""
    given = dict(others if call.has_other_inputs else inputs)
    if call.variant.scale is Scale.LARGE:
        given |= {name: given[name] * scale for name, scale in scales.items()}
    if call.variant.sharing is Sharing.SHARED:
        given |= {name: given[other] for name, other in shared.items()}
    return given


def optional_of(variant: CallingVariant, optional: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the inputs of an earlier call that a call leaves out; none if the variant has no such call."""
    if variant.history is not History.AFTER_OTHERS:
        return {}
    return {name: _double(value) if variant.dtype is Dtype.FLOAT64 else value for name, value in optional.items()}


def is_same_in_training(subject: Subject, inputs: dict[str, Any], *, called: str) -> bool:
    """Return whether the module returns the same values in training and evaluation mode, and its buffers stay equal."""
    module = copy.deepcopy(subject.module) if [*subject.module.buffers()] else subject.module
    mode_before = module.training
    function = getattr(module, called) if called else module
    values = []
    try:
        for mode in (False, True):
            module.train(mode)
            values.append([tensor.nan_to_num() for tensor in flatten(function(**inputs))])
    except ValueError:  # statistics of a batch need more than one sample
        return False
    finally:
        module.train(mode_before)
    own = zip(module.buffers(), subject.module.buffers(), strict=True)
    return all(torch.equal(one, other) for one, other in (*zip(*values, strict=True), *own))


def fixed_cotangents(value: Any) -> list[torch.Tensor]:
    """Return the factors of each floating-point output in the loss, the same for the subject and the reference."""
    outputs = [tensor for tensor in flatten(value) if tensor.is_floating_point()]
    return [torch.arange(1, each.numel() + 1, dtype=each.dtype).square().cos().view(each.shape) for each in outputs]


def _call_in_variant(
    subject: Subject,
    module: torch.nn.Module,
    inputs: dict[str, Any],
    optional: dict[str, torch.Tensor],
    call: VariantCall,
    method: str,
) -> tuple[Any, CallGradients]:
    """Return the method's value in one call, and the gradients of parameters and inputs.

    `module` is the subject's module, or was made from it.
    """
    mode_before = module.training
    if call.records_gradients() and not call.has_other_inputs:
        inputs = _as_leaves(inputs, call.inputs_with_gradients)
    try:
        _switch(module, training=call.variant.mode is Mode.TRAINING or mode_before)
        return _called(subject, module, inputs, optional, call, method)
    finally:
        _switch(module, training=mode_before)


def _as_leaves(inputs: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the inputs; those with these names get gradients, and inputs that are one tensor stay one tensor."""
    leaves = {id(each): _as_leaf(each) for name, each in inputs.items() if name in names}
    return {name: leaves.get(id(each), each) for name, each in inputs.items()}


def _any_learns(inputs: dict[str, Any]) -> bool:
    """Return whether any input gets a gradient."""
    return any(isinstance(each, torch.Tensor) and each.requires_grad for each in inputs.values())


def _as_leaf(value: Any) -> Any:
    """Return a floating-point tensor that gets a gradient and shares the given one's memory; other values as is."""
    is_floating = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.detach().requires_grad_() if is_floating else value


def _as_outputs(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return inputs that get gradients as views, so that they are not leaves, like outputs of another module."""
    views = {id(each): each for each in inputs.values()}
    for each in inputs.values():
        if isinstance(each, torch.Tensor) and each.requires_grad:
            views[id(each)] = each.view_as(each)
    return {name: views[id(each)] for name, each in inputs.items()}


def _called(
    subject: Subject,
    module: torch.nn.Module,
    inputs: dict[str, Any],
    optional: dict[str, torch.Tensor],
    call: VariantCall,
    method: str,
) -> tuple[Any, CallGradients]:
    variant = call.variant
    module = _with_history(module, variant.history, method, inputs)
    flags = subject.flags(module)
    function = getattr(module, method) if method else module
    by_position = list(inputs) if variant.arguments is Arguments.BY_POSITION else []

    def run(inputs: dict[str, Any] = inputs) -> Any:
        inputs = _as_outputs(inputs)
        by_name = {name: value for name, value in inputs.items() if name not in by_position}
        with _gradient_mode(variant.gradients):
            return function(*(inputs[name] for name in by_position), **by_name)

    if variant.history is History.AFTER_OTHERS:
        _call_with_others(module, inputs, run)
        with contextlib.suppress(Exception):
            run({**inputs, **optional})
    is_made = module is not subject.module and variant.history in {History.COPIED, *NEEDS_NEW_MODULE}
    own = [*subject.module.parameters()] if is_made else []  # a module made from it must work without it
    gradients: CallGradients = (None, None)
    with _overwritten(own, list(map(torch.zeros_like, own))):
        value = run()
        if variant.history is History.AFTER_OTHERS:
            _call_later(inputs, run)
        if call.records_gradients():
            loss_scale = LOSS_SCALES[call.has_other_inputs]
            gradients = of_parameters, _ = _gradients(value, module, inputs, loss_scale)
            if of_parameters and not _any_learns(inputs) and all(each is None for each in of_parameters.values()):
                leaves = _as_leaves(inputs, inputs)  # a reentrant checkpoint needs an input that gets a gradient
                gradients = _gradients(run(leaves), module, inputs, loss_scale)
    for name, flag in subject.flags(module).items():
        if flags.get(name, flag) != flag:
            raise RuntimeError(f"the call changed {name} from {flags[name]} to {flag}")
    return value, gradients


def _gradients(
    value: Any, module: torch.nn.Module, inputs: dict[str, Any], loss_scale: float
) -> tuple[Gradients, Gradients]:
    """Return the gradients of the parameters and of the inputs that get one, from a loss times `loss_scale`."""
    parts = dict(module.named_parameters()), inputs
    wanted = [
        {name: each for name, each in part.items() if isinstance(each, torch.Tensor) and each.requires_grad}
        for part in parts
    ]
    leaves = [each for part in wanted for each in part.values()]
    outputs = [tensor for tensor in flatten(value) if tensor.is_floating_point()]
    pairs = zip(outputs, fixed_cotangents(value), strict=True)
    terms = [(output * cotangent).sum() for output, cotangent in pairs if output.requires_grad]
    before = [each.grad for each in leaves]
    _set_gradients(leaves, [None] * len(leaves))
    if terms and leaves:
        (loss_scale * sum(terms[1:], start=terms[0])).backward()  # type: ignore[no-untyped-call]  # checkpoints refuse torch.autograd.grad
    of_parameters, of_inputs = (
        {name: None if each.grad is None else each.grad / loss_scale for name, each in part.items()} for part in wanted
    )
    _set_gradients(leaves, before)
    return of_parameters, of_inputs


def _set_gradients(tensors: Iterable[torch.Tensor], gradients: Iterable[torch.Tensor | None]) -> None:
    for tensor, gradient in zip(tensors, gradients, strict=True):
        tensor.grad = gradient


def _takes_doubled(variant: CallingVariant) -> bool:
    """Return whether a variant may reuse the float64 module of an earlier variant."""
    return variant.dtype is Dtype.FLOAT64 and variant.history not in NEEDS_NEW_MODULE


def _module_for(subject: Subject, variant: CallingVariant) -> torch.nn.Module:
    """Return the module, or a new module with its state if the variant needs one."""
    module, history = subject.module, variant.history
    is_double = variant.dtype is Dtype.FLOAT64
    if history not in NEEDS_NEW_MODULE and not is_double:
        return module
    arguments = subject.arguments
    new = subject.build(*arguments.values()) if history in BUILT_BY_POSITION else subject.build(**arguments)
    state = module.state_dict()
    if history in (History.RELOADED, History.REBUILT):  # the state dict that is loaded last must take effect
        zeros = {name: value * 0 if isinstance(value, torch.Tensor) else value for name, value in state.items()}
        new.load_state_dict(zeros)
    new.load_state_dict(state)
    new.train(module.training)
    return new.double() if is_double and history is not History.CONVERTED else new


def _use_another(subject: Subject, arguments: dict[str, Any], inputs: dict[str, Any], method: str) -> None:
    """Build another module of the class and call it in the other mode, with weights of its own. Ignore its errors: its
    sizes may not fit the inputs.
    """
    with contextlib.suppress(Exception), torch.no_grad():
        another = subject.build(**arguments)
        if any(map(_is_double, inputs.values())):
            another = another.double()
        another.train(not subject.module.training)
        (getattr(another, method) if method else another)(**inputs)


def _with_history(module: torch.nn.Module, history: History, method: str, inputs: dict[str, Any]) -> torch.nn.Module:
    """Return the module with the history: a frozen copy, switched between modes, converted, or unchanged."""

    def call(inputs: dict[str, Any]) -> None:
        (getattr(module, method) if method else module)(**inputs)

    match history:
        case History.MODES:
            _call_in_both_modes(module, call, inputs)
        case History.INFERENCE_FIRST:
            with torch.inference_mode():
                _call_in_both_modes(module, call, inputs)
        case History.CONVERTED:
            dtype = torch.get_default_dtype()  # of the module in its state so far
            call({name: value.to(dtype) if _is_double(value) else value for name, value in inputs.items()})
            return module.double()
        case History.COPIED:
            try:
                return copy.deepcopy(module).requires_grad_(False)
            except (RuntimeError, TypeError) as error:
                if not any(text in str(error) for text in CANNOT_COPY):
                    raise
    return module


def _call_in_both_modes(
    module: torch.nn.Module, call: Callable[[dict[str, Any]], None], inputs: dict[str, Any]
) -> None:
    """Call the module in the other mode, then in its own."""
    mode_before = module.training
    for mode in (not mode_before, mode_before):
        _switch(module, training=mode)
        call(inputs)


def _switch(module: torch.nn.Module, *, training: bool) -> None:
    """Call `train()` or `eval()`, as users do: `module.eval()(x)`."""
    returned = module.train() if training else module.eval()
    if returned is not module:
        raise RuntimeError(f"{'train' if training else 'eval'}() does not return the module")


def _is_double(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype is torch.float64


def _double(value: Any) -> Any:
    is_floating = isinstance(value, torch.Tensor) and value.is_floating_point()
    return finer(value) if is_floating else value


def finer(value: torch.Tensor) -> torch.Tensor:
    """Return nearly the same numbers in float64, with digits that float32 lacks."""
    return value.double() * (1 - 2**-26)


def _gradient_mode(mode: GradientMode) -> contextlib.AbstractContextManager[Any]:
    match mode:
        case GradientMode.INFERENCE_MODE:
            return torch.inference_mode()
        case GradientMode.NO_GRAD:
            return torch.no_grad()
    return contextlib.nullcontext()


def _laid_out(value: Any, layout: MemoryLayout, sample_axis: int | None) -> Any:
    if not isinstance(value, torch.Tensor) or value.dim() < 2:  # noqa: PLR2004 - nothing to transpose
        return value
    match layout:
        case MemoryLayout.EXPANDED:
            return value if sample_axis is None else value.narrow(sample_axis, 0, 1).expand(value.shape)
        case MemoryLayout.TRANSPOSED:
            return value.transpose(0, -1).contiguous().transpose(0, -1)
    return value


def _call_with_others(module: torch.nn.Module, inputs: dict[str, Any], call: Callable[[], Any]) -> None:
    """Call the module twice with other values in the same tensors: in inputs and weights, then in weights alone."""
    tensors = [value for value in inputs.values() if isinstance(value, torch.Tensor) and value.dim()]
    rolled = [value for value in tensors if value.is_floating_point() or _lies_in_unit_interval(value)]
    others = [value.detach().roll(1, -1) for value in rolled]
    weights = [*module.parameters()]  # if inputs and weights were both rolled, their products would not change
    ramped = list(map(_ramped, weights))
    # the second call keeps the inputs, because a cache may depend on them alone
    for values, replacements in ((rolled + weights, others + ramped), (weights, ramped)):
        with _overwritten(values, replacements), contextlib.suppress(Exception):
            call()


def _call_later(inputs: dict[str, Any], call: Callable[[dict[str, Any]], Any]) -> None:
    """Call the module with other values in other tensors. This must not change the value that it returned before, or
    the backward pass of that value.
    """
    rolled = {
        name: value.detach().roll(1, -1).requires_grad_(value.requires_grad) if _is_vector(value) else value
        for name, value in inputs.items()
    }
    with contextlib.suppress(Exception):
        call(rolled)


def _is_vector(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.dim() > 0


def _ramped(value: torch.Tensor) -> torch.Tensor:
    """Return weights in another direction, because smaller weights would not change a softmax of large scores."""
    return value.detach() * torch.linspace(-1.0, 0.5, value.numel(), dtype=value.dtype).view(value.shape)


def _lies_in_unit_interval(value: torch.Tensor) -> bool:
    return value.dtype == torch.bool or (value.numel() > 0 and bool(value.min() >= 0) and bool(value.max() <= 1))


@contextlib.contextmanager
def _overwritten(tensors: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> Iterator[None]:
    """Write other values to the tensors inside the block, and restore them afterwards."""
    originals = [value.detach().clone() for value in tensors]
    _write(tensors, others)
    try:
        yield
    finally:
        _write(tensors, originals)


def _write(tensors: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> None:
    with torch.no_grad():
        for tensor, other in zip(tensors, others, strict=False):
            target, source = tensor, other
            for axis, step in enumerate(tensor.stride()):
                if step == 0:  # an expanded sample has one storage
                    target, source = target.narrow(axis, 0, 1), source.narrow(axis, 0, 1)
            with contextlib.suppress(RuntimeError):
                target.copy_(source)
