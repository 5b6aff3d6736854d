"""What a check holds in its hand: the same small interface over a module in a worker and over the reference."""

import contextlib
import importlib.abc
import importlib.util
import io
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import torch
from msgspec import Struct

from grader.examiner.session import Session, SubjectDiedError
from grader.worker import protocol
from grader.worker.protocol import Built, Returned, TensorValue
from grader.worker.torch_parts import complete_torch_for
from grader.worker.values import from_python, from_tensor, to_python, to_tensor

Tensors = dict[str, torch.Tensor]


class Pass(Struct, frozen=True):
    """A forward and backward pass: what was returned, and gradients by name (None where there is none)."""

    value: Any
    parameters: dict[str, torch.Tensor | None]
    inputs: dict[str, torch.Tensor | None]


class StandIn(Protocol):
    """A module under a check: call it with keyword arguments, as in `module(x=tensor)`."""

    training: bool

    def __call__(self, **inputs: Any) -> Any:
        """What forward returns."""

    def call(self, method: str, **inputs: Any) -> Any:
        """What another method returns; an empty name means forward."""

    def differentiate(self, cotangents: list[torch.Tensor], method: str = "", **inputs: Any) -> Pass:
        """Forward, then backward from the sum of outputs times cotangents."""

    def inputs_after(self) -> Tensors:
        """The last call's tensors as the call left them."""

    def weights(self) -> Tensors:
        """Parameters by name."""

    def attribute(self, name: str) -> Any:
        """The value of an attribute."""

    def printed(self) -> str:
        """What went to stdout since this was last asked."""

    def load_from(self, other: Any) -> None:
        """Load the state dict of another module of the same side."""


class Maker(Protocol):
    """Builds modules: `subject(num_heads=2, ...)`, or `reference(...)`."""

    def __call__(self, **arguments: Any) -> StandIn: ...

    def build(
        self,
        arguments: dict[str, Any],
        *,
        like: StandIn | None = None,
        dtype: str = "float32",
        probe: str = "",
        entry: str = "",
    ) -> StandIn:
        """A module with `like`'s weights; `probe` is source run beside it, which may define another `entry` class."""


class MisfitError(Exception):
    """The submission's parameters are not the interface's."""


class RemoteModule:
    """A module in a worker."""

    def __init__(self, session: Session, number: int, built: Built) -> None:
        self.training = False
        self._session = session
        self.number = number
        self._built = built
        self._after: Tensors = {}

    def __call__(self, **inputs: Any) -> Any:
        return self.call("", **inputs)

    def call(self, method: str, **inputs: Any) -> Any:
        return _decoded(self._request(method, inputs, None).value)

    def differentiate(self, cotangents: list[torch.Tensor], method: str = "", **inputs: Any) -> Pass:
        returned = self._request(method, inputs, [from_tensor(cotangent) for cotangent in cotangents])
        return Pass(
            _decoded(returned.value), _tensors(returned.parameter_gradients), _tensors(returned.input_gradients)
        )

    def inputs_after(self) -> Tensors:
        return self._after

    def weights(self) -> Tensors:
        return {name: torch.empty(shape) for name, shape in self._built.parameters.items()}

    def attribute(self, name: str) -> Any:
        return _decoded(_returned(self._session.request(protocol.Read(self.number, name))).value)

    def printed(self) -> str:
        return self._session.printed().decode("utf-8", "replace")

    def load_from(self, other: Any) -> None:
        self._session.request(protocol.Transfer(other.number, self.number))

    def _request(self, method: str, inputs: dict[str, Any], cotangents: list[TensorValue] | None) -> Returned:
        arguments = {name: from_python(value) for name, value in inputs.items()}
        call = protocol.Call(self.number, arguments, method, self.training, cotangents)
        returned = _returned(self._session.request(call))
        self._after = {name: _tensor(value) for name, value in returned.inputs.items()}
        return returned


class Subject:
    """Builds the submission's class in the worker."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._count = 0

    def __call__(self, **arguments: Any) -> StandIn:
        return self.build(arguments)

    def build(
        self,
        arguments: dict[str, Any],
        *,
        like: StandIn | None = None,
        dtype: str = "float32",
        probe: str = "",
        entry: str = "",
    ) -> StandIn:
        """A module in the worker. `MisfitError` when `like`'s weights do not fit it."""
        self._count += 1
        weights = None if like is None else {name: from_tensor(value) for name, value in like.weights().items()}
        values = {name: from_python(value) for name, value in arguments.items()}
        entry = entry or self._session.exercise.interface.class_name
        built = self._session.request(protocol.Build(self._count, entry, values, dtype, probe, weights))
        if not isinstance(built, Built):
            raise SubjectDiedError("answered with a message that was not asked for")
        if built.misfits:
            raise MisfitError("; ".join(built.misfits[:4]))
        return RemoteModule(self._session, self._count, built)


class LocalModule:
    """The reference, in this process."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.training = False
        self.module = module
        self._after: Tensors = {}
        self._output = io.StringIO()

    def __call__(self, **inputs: Any) -> Any:
        return self.call("", **inputs)

    def call(self, method: str, **inputs: Any) -> Any:
        return _detached(self._run(method, inputs, requires_grad=False)[0])

    def differentiate(self, cotangents: list[torch.Tensor], method: str = "", **inputs: Any) -> Pass:
        self.module.zero_grad(set_to_none=True)
        value, tensors = self._run(method, inputs, requires_grad=True)
        outputs = [output for output in flatten(value) if output.is_floating_point()]
        pairs = [(output, cotangent) for output, cotangent in zip(outputs, cotangents, strict=True)]
        total = sum(
            ((output * cotangent).sum() for output, cotangent in pairs if output.requires_grad), torch.zeros(())
        )
        total.backward()  # type: ignore[no-untyped-call]
        gradients = {name: parameter.grad for name, parameter in self.module.named_parameters()}
        inputs_gradients = {name: tensor.grad for name, tensor in tensors.items() if tensor.requires_grad}
        return Pass(_detached(value), gradients, inputs_gradients)

    def inputs_after(self) -> Tensors:
        return self._after

    def weights(self) -> Tensors:
        return {name: parameter.detach() for name, parameter in self.module.named_parameters()}

    def attribute(self, name: str) -> Any:
        return _detached(getattr(self.module, name))

    def printed(self) -> str:
        text = self._output.getvalue()
        self._output.seek(0)
        self._output.truncate()
        return text

    def load_from(self, other: Any) -> None:
        self.module.load_state_dict(other.module.state_dict())

    def _run(self, method: str, inputs: dict[str, Any], *, requires_grad: bool) -> tuple[Any, Tensors]:
        self.module.train(self.training)
        copies = {
            name: value.clone().requires_grad_(requires_grad and value.is_floating_point())
            if isinstance(value, torch.Tensor)
            else value
            for name, value in inputs.items()
        }
        with contextlib.redirect_stdout(self._output):
            value = (getattr(self.module, method) if method else self.module)(**copies)
        tensors = {name: value for name, value in copies.items() if isinstance(value, torch.Tensor)}
        self._after = {name: tensor.detach() for name, tensor in tensors.items()}
        return value, tensors


class Reference:
    """Builds the reference's class in this process."""

    def __init__(self, path: Path, class_name: str) -> None:
        complete_torch_for(path.read_text(encoding="utf-8"))
        self._module = _import_file(path)
        self._class_name = class_name

    def __call__(self, **arguments: Any) -> StandIn:
        return self.build(arguments)

    def build(
        self,
        arguments: dict[str, Any],
        *,
        like: StandIn | None = None,
        dtype: str = "float32",
        probe: str = "",
        entry: str = "",
    ) -> StandIn:
        """The reference, with fresh weights or `like`'s."""
        names: dict[str, Any] = vars(self._module)
        if probe:
            names = vars(_run_probe(probe, self._module))
        with contextlib.redirect_stdout(io.StringIO()):
            module = names[entry or self._class_name](**arguments).to(getattr(torch, dtype))
        if like is not None:
            module.load_state_dict(like.weights(), strict=False)
        return LocalModule(module)


def flatten(value: Any) -> list[torch.Tensor]:
    """The tensors in a returned value, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in flatten(item)]
    return []


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"reference_of_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _ProbeLoader(importlib.abc.InspectLoader):
    """Imports a probe's text as a module."""

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - the loader serves one module
        return self._source


def _run_probe(source: str, submission: ModuleType) -> ModuleType:
    loader = _ProbeLoader(source)
    spec = importlib.util.spec_from_loader("probe", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(submission=submission, torch=torch)
    loader.exec_module(module)
    return module


def _returned(reply: Any) -> Returned:
    if not isinstance(reply, Returned):
        raise SubjectDiedError("answered with a message that was not asked for")
    return reply


def _decoded(value: protocol.Value) -> Any:
    try:
        return to_python(value)
    except ValueError as error:
        raise SubjectDiedError(f"sent what is no tensor ({error})") from None


def _tensors(values: dict[str, TensorValue | None]) -> dict[str, torch.Tensor | None]:
    return {name: None if value is None else _tensor(value) for name, value in values.items()}


def _tensor(value: TensorValue) -> torch.Tensor:
    try:
        return to_tensor(value)
    except ValueError as error:
        raise SubjectDiedError(f"sent what is no tensor ({error})") from None


def _detached(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, tuple | list):
        return type(value)(_detached(item) for item in value)
    return value
