"""The submission as a check sees it: modules that stand in a worker."""

from typing import Any, Protocol

import torch
from msgspec import Struct

from grader.checks.outputs import has_form
from grader.checks.session import Session, SubjectDiedError, SubjectRaisedError, unasked
from grader.checks.subjects import adapter_of
from grader.sandbox import protocol
from grader.sandbox.probes import ProbeFunction, name_of
from grader.sandbox.protocol import Build, Built, Request, Returned, TensorValue
from grader.sandbox.values import from_python, from_tensor, to_python

Tensors = dict[str, torch.Tensor]


class Pass(Struct, frozen=True, kw_only=True):
    """A forward and backward pass: the outputs, the cotangents that weighted them, and gradients by name (or None)."""

    value: Any
    cotangents: list[torch.Tensor]
    parameters: dict[str, torch.Tensor | None]
    inputs: dict[str, torch.Tensor | None]


class ModuleProxy(Protocol):
    """A module under a check: `module(x=tensor)` calls it, by keyword, and under `no_grad` unless it has `grad`."""

    training: bool
    grad: bool

    def __call__(self, **inputs: Any) -> Any:
        """What forward returns."""

    def call(self, method: str, **inputs: Any) -> Any:
        """What another method returns; an empty name means forward."""

    def run_probe(self, probe: ProbeFunction, inputs: dict[str, Any], **options: Any) -> Any:
        """What a probe function of the kit returns beside the module."""

    def call_each(self, inputs: list[dict[str, Any]], *, grad: bool = True) -> list[Any]:
        """What forward returns for each of them, one after the other; without `grad`, under `no_grad`."""

    def differentiate(self, cotangents: list[torch.Tensor] | None, method: str = "", **inputs: Any) -> Pass:
        """Forward, then backward from the sum of outputs times cotangents; the reference may draw them itself."""

    def inputs_after(self) -> Tensors:
        """The last call's tensors as the call left them."""

    def weights(self) -> Tensors:
        """Parameters by name, as they are now."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters by name."""

    def attribute(self, name: str) -> Any:
        """The value of an attribute."""

    def printed(self) -> str:
        """Return what the submission wrote to stdout since the last call."""

    def load_from(self, other: Any) -> None:
        """Load the state dict of another module of the same side."""


class ModuleFactory(Protocol):
    """Builds modules: `subject(num_heads=2, ...)`, or `reference(...)`."""

    def __call__(self, **arguments: Any) -> ModuleProxy: ...

    def build(
        self,
        arguments: dict[str, Any],
        *,
        like: ModuleProxy | None = None,
        dtype: str = "",
        probe: str = "",
        entry: str = "",
        at_once: bool = True,
    ) -> ModuleProxy:
        """A module with `like`'s weights; `probe` is source run beside it, which may define another `entry` class.

        Unless it is built `at_once`, it is built when something is first asked of it.
        """


class MisfitError(Exception):
    """The submission's parameters are not the interface's; `deviation` names all that do not fit."""

    def __init__(self, misfits: list[str]) -> None:
        super().__init__("; ".join(misfits[:4]))
        self.deviation = "; ".join(sorted(misfits))


class RemoteProxy:
    """A module in a worker. The request that builds it may be sent with the first call."""

    def __init__(self, session: Session, build: Build, *, is_whole: bool) -> None:
        """`is_whole` is true for the submission's module and false for a part of it."""
        self.training, self.grad = False, True
        self.number = build.module
        self._session = session
        self._is_whole = is_whole
        self._build: Build | None = build
        self._workers_before = 0
        self._shapes: dict[str, list[int]] = {}
        self._after: Tensors | None = {}

    def __call__(self, **inputs: Any) -> Any:
        return self.call("", **inputs)

    def call(self, method: str, **inputs: Any) -> Any:
        return self._noted(_decoded(self._request(method, inputs).value), is_forward=not method)

    def run_probe(self, probe: ProbeFunction, inputs: dict[str, Any], **options: Any) -> Any:
        call = self._call("", inputs, grad=self.grad, probe=name_of(probe), options=_values(options))
        return self._noted(_decoded(self._send(call).value), is_forward=False)

    def call_each(self, inputs: list[dict[str, Any]], *, grad: bool = True) -> list[Any]:
        first, *others = inputs
        more = [{name: value for name, value in each.items() if value is not first.get(name)} for each in others]
        values = _decoded(self._request("", first, more=more, grad=grad).value)
        if isinstance(values, protocol.Other):  # more than may travel at once
            return [values] * len(inputs)
        if not isinstance(values, list) or len(values) != len(inputs):
            raise unasked()
        return [self._noted(value, is_forward=True) for value in values]

    def _noted(self, value: Any, *, is_forward: bool) -> Any:
        """The value, noted as the last, with whether it has the form that the interface declares for forward."""
        shapes = self._session.exercise.interface.outputs
        self._session.log.note_returned(value, has_form=is_forward and self._is_whole and has_form(value, shapes))
        return value

    def differentiate(self, cotangents: list[torch.Tensor] | None, method: str = "", **inputs: Any) -> Pass:
        assert cotangents is not None, "only the reference draws them"
        returned = self._request(method, inputs, [from_tensor(cotangent) for cotangent in cotangents])
        return Pass(
            value=self._noted(_decoded(returned.value), is_forward=False),  # a gradient may be missing
            cotangents=cotangents,
            parameters=_tensors(returned.parameter_gradients),
            inputs=_tensors(returned.input_gradients),
        )

    def inputs_after(self) -> Tensors:
        if self._after is None:
            self._after = _all_tensors(_returned(self._ask(protocol.Read(self.number))).inputs)
        return self._after

    def weights(self) -> Tensors:
        self.build()
        return _all_tensors(_returned(self._ask(protocol.Read(self.number, weights=True))).inputs)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        self.build()
        return {name: tuple(shape) for name, shape in self._shapes.items()}

    def attribute(self, name: str) -> Any:
        self.build()
        self._session.log.note_other()
        return _decoded(_returned(self._ask(protocol.Read(self.number, name))).value)

    def printed(self) -> str:
        self.build()
        self._session.log.note_other()
        return self._session.printed().decode("utf-8", "replace")

    def load_from(self, other: Any) -> None:
        self.build()
        other.build()
        other.require_worker()
        self._ask(protocol.Transfer(other.number, self.number))

    def build(self) -> None:
        """Have it built now, if it is not yet. `MisfitError` when the weights do not fit it."""
        if self._build is not None:
            self._note(self._ask(self._build))

    def require_worker(self) -> None:
        """Raise `SubjectDiedError` where the module has gone with the worker that it was built in."""
        ends = self._session.ends
        if self._build is None and len(ends) > self._workers_before:
            raise SubjectDiedError(f"{ends[-1]} before, and what was built until then went with it")

    def _ask(self, message: Request) -> Any:
        """The worker's reply; what builds the module is asked for until it was built."""
        self.require_worker()
        try:
            reply = self._session.request(message)
        except SubjectRaisedError as error:
            self._note_built(is_built=not error.raised.is_building)
            raise
        self._note_built(is_built=True)
        return reply

    def _note_built(self, *, is_built: bool) -> None:
        if self._build is not None and is_built:
            self._build, self._workers_before = None, len(self._session.ends)

    def _note(self, reply: Any) -> None:
        if not isinstance(reply, Built):
            raise unasked()
        if reply.misfits:
            raise MisfitError(reply.misfits)
        self._shapes = reply.parameters

    def _request(
        self,
        method: str,
        inputs: dict[str, Any],
        cotangents: list[TensorValue] | None = None,
        more: list[dict[str, Any]] | None = None,
        grad: bool = True,
    ) -> Returned:
        if self._is_whole and not method:
            self._session.log.note_call()
        values = None if more is None else [_values(each) for each in more]
        grad = cotangents is not None or (grad and self.grad)
        return self._send(self._call(method, inputs, cotangents=cotangents, more=values, grad=grad))

    def _call(self, method: str, inputs: dict[str, Any], **fields: Any) -> protocol.Call:
        return protocol.Call(
            self.number, _values(inputs), method=method, training=self.training, build=self._build, **fields
        )

    def _send(self, call: protocol.Call) -> Returned:
        reply = self._ask(call)
        if call.build is not None and isinstance(reply, Built):
            self._note(reply)
        returned = _returned(reply)
        self._after = None if call.cotangents is None else _all_tensors(returned.inputs)
        return returned


class Subject:
    """Builds the submission's class in the worker."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._count = 0

    def __call__(self, **arguments: Any) -> ModuleProxy:
        return self.build(arguments)

    def build(
        self,
        arguments: dict[str, Any],
        *,
        like: ModuleProxy | None = None,
        dtype: str = "",
        probe: str = "",
        entry: str = "",
        at_once: bool = True,
    ) -> ModuleProxy:
        """A module in the worker.

        `MisfitError` when `like`'s weights do not fit it, and what building it raises: here where it is built
        `at_once`, else when something is first asked of it.
        """
        self._count += 1
        weights = None if like is None else {name: from_tensor(value) for name, value in like.weights().items()}
        values = _values(arguments)
        interface = self._session.exercise.interface
        build = Build(
            self._count,
            entry or interface.entry(),
            values,
            dtype=dtype,
            probe=probe,
            adapter=None if probe else adapter_of(interface),
            parameters=weights,
        )
        is_whole = bool(probe) or entry in ("", interface.entry())
        module = RemoteProxy(self._session, build, is_whole=is_whole)
        if at_once:
            module.build()
        return module


def _values(values: dict[str, Any]) -> dict[str, protocol.Value]:
    return {name: _value(value) for name, value in values.items()}


def _value(value: Any) -> protocol.Value:
    return from_tensor(value) if isinstance(value, torch.Tensor) else from_python(value)


def _returned(reply: Any) -> Returned:
    if not isinstance(reply, Returned):
        raise unasked()
    return reply


def _tensors(values: dict[str, TensorValue | None]) -> dict[str, torch.Tensor | None]:
    return {name: None if value is None else _tensor(value) for name, value in values.items()}


def _all_tensors(values: dict[str, TensorValue]) -> Tensors:
    return {name: _tensor(value) for name, value in values.items()}


def _tensor(value: TensorValue) -> torch.Tensor:
    tensor: torch.Tensor = _decoded(value)
    return tensor


def _decoded(value: protocol.Value) -> Any:
    try:
        return to_python(value)
    except ValueError as error:
        raise SubjectDiedError(f"sent what is no tensor ({error})") from None
