"""Proxies for the submission: checks use them like modules, and a worker runs the calls."""

import re
from typing import Any, Protocol

import torch
from msgspec import Struct

from grader.checks.adapters import adapter_of
from grader.checks.outputs import has_form
from grader.checks.session import Session, SubjectDiedError, SubjectRaisedError, unexpected_reply
from grader.sandbox import protocol
from grader.sandbox.probes import ProbeFunction, name_of
from grader.sandbox.protocol import Build, Built, Misfit, Request, Returned, TensorValue
from grader.sandbox.text import listed_first
from grader.sandbox.values import from_python, from_tensor, to_python

Tensors = dict[str, torch.Tensor]


class Pass(Struct, frozen=True, kw_only=True):
    """The result of a forward and a backward pass."""

    value: Any
    """The outputs."""
    cotangents: list[torch.Tensor]
    """One for each floating-point output, of the output's shape. The loss is the sum of outputs times cotangents."""
    parameters: dict[str, torch.Tensor | None]
    """Gradients of the parameters; None where nothing flows back."""
    inputs: dict[str, torch.Tensor | None]
    """Gradients of the inputs; None where nothing flows back."""


class ModuleProxy(Protocol):
    """A module in a check. `module(x=tensor)` calls it by keyword.

    Calls of a submission record gradients if `grad` is true. Calls of the reference record them as torch is set.
    """

    training: bool
    grad: bool

    def __call__(self, **inputs: Any) -> Any:
        """Call `forward` and return its value."""

    def call(self, method: str, **inputs: Any) -> Any:
        """Call a method and return its value; an empty name means `forward`."""

    def run_probe(self, probe: ProbeFunction, inputs: dict[str, Any], **options: Any) -> Any:
        """Run a function of `sandbox/probes/` beside the module and return its value."""

    def call_each(self, inputs: list[dict[str, Any]], *, grad: bool = True) -> list[Any]:
        """Call `forward` with each of the inputs in turn and return the values; without `grad`, under `no_grad`."""

    def differentiate(self, cotangents: list[torch.Tensor] | None, method: str = "", **inputs: Any) -> Pass:
        """Run a forward pass, then a backward pass from the sum of outputs times cotangents.

        Only the reference accepts None for the cotangents, and draws them itself.
        """

    def inputs_after(self) -> Tensors:
        """Return the input tensors of the last call, as they are after the call."""

    def weights(self) -> Tensors:
        """Return the current parameters by name."""

    def initial_weights(self) -> Tensors:
        """Return the parameters of a new module as its class initializes them.

        The weights of a running reference differ from these, because the kit replaces its constant parameters by random
        ones.
        """

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters by name."""

    def attribute(self, name: str) -> Any:
        """Return the value of an attribute."""

    def printed(self) -> str:
        """Return what the submission wrote to stdout since the last call."""

    def load_from(self, other: Any) -> None:
        """Load the state dict of another module. Both belong to the submission, or both to the reference."""


class HasWeights(Protocol):
    """A module, or only its weights."""

    def weights(self) -> Tensors:
        """Return the parameters by name."""


class ModuleFactory(Protocol):
    """Builds modules: `subject(num_heads=2, ...)`, or `reference(...)`."""

    def __call__(self, **arguments: Any) -> ModuleProxy: ...

    def build(self, arguments: dict[str, Any], *, dtype: str = "", variation: str = "", entry: str = "") -> ModuleProxy:
        """Build a module: of the exercise's class, of the class `entry`, or of a class in `variations.py`."""


class MisfitError(Exception):
    """The submission's parameters are not those of the interface.

    `deviation` describes each parameter that does not fit by its fields. It is text, so that a recording can store it.
    """

    def __init__(self, misfits: list[Misfit]) -> None:
        super().__init__(listed_first([*dict.fromkeys(map(_in_words, misfits))], "; "))
        self.deviation = frozenset(map(repr, misfits))


def _in_words(misfit: Misfit) -> str:
    if misfit.shape is not None:
        return f"{misfit.name} has shape {tuple(misfit.shape)}, not {tuple(misfit.expected)}"
    if misfit.part:
        return f"{misfit.part} is the same object as {misfit.same_as}"
    return f"there is no parameter {misfit.name}"


class RemoteProxy:
    """A module in a worker. The request that builds it may be sent with the first call."""

    def __init__(self, session: Session, build: Build, arguments: dict[str, Any], *, is_entry: bool) -> None:
        """`is_entry` is true for the submission's own class or function and false for a part of it."""
        self.training, self.grad = False, True
        self.number = build.module
        self._session = session
        self._arguments = arguments
        self._is_entry = is_entry
        self._build: Build | None = build
        self._workers_before = 0
        self._shapes: dict[str, list[int]] = {}
        self._after: Tensors | None = {}

    def __call__(self, **inputs: Any) -> Any:
        return self.call("", **inputs)

    def call(self, method: str, **inputs: Any) -> Any:
        return self._logged(_decoded(self._request(method, inputs).value), is_forward=not method)

    def run_probe(self, probe: ProbeFunction, inputs: dict[str, Any], **options: Any) -> Any:
        call = self._call("", inputs, grad=self.grad, probe=name_of(probe), options=_values(options))
        return self._logged(_decoded(self._send(call).value), is_forward=False)

    def call_each(self, inputs: list[dict[str, Any]], *, grad: bool = True) -> list[Any]:
        first, *others = inputs
        more = [{name: value for name, value in each.items() if value is not first.get(name)} for each in others]
        values = _decoded(self._request("", first, more=more, grad=grad).value)
        if isinstance(values, protocol.Other):  # too large to send in one reply
            return [values] * len(inputs)
        if not isinstance(values, list) or len(values) != len(inputs):
            raise unexpected_reply()
        return [self._logged(value, is_forward=True) for value in values]

    def _logged(self, value: Any, *, is_forward: bool) -> Any:
        """Log a returned value and whether it has the form that the interface declares for `forward`; return the
        value.
        """
        if self._session.tape is not None:
            self._session.tape.note_value(value)
        shapes = self._session.exercise.interface.outputs
        self._session.log.note_reply(has_form=is_forward and self._is_entry and has_form(value, shapes))
        return value

    def differentiate(self, cotangents: list[torch.Tensor] | None, method: str = "", **inputs: Any) -> Pass:
        assert cotangents is not None, "only the reference draws them"
        returned = self._request(method, inputs, [from_tensor(cotangent) for cotangent in cotangents])
        passed = Pass(
            value=self._logged(_decoded(returned.value), is_forward=False),  # a gradient may be missing
            cotangents=cotangents,
            parameters=_tensors(returned.parameter_gradients),
            inputs=_tensors(returned.input_gradients),
        )
        if self._session.tape is not None:
            self._session.tape.note_gradients({**passed.parameters, **passed.inputs})
        return passed

    def inputs_after(self) -> Tensors:
        if self._after is None:
            self._after = _all_tensors(_returned(self._ask(protocol.Read(module=self.number))).inputs)
        return self._after

    def weights(self) -> Tensors:
        self.build()
        return _all_tensors(_returned(self._ask(protocol.Read(module=self.number, weights=True))).inputs)

    def initial_weights(self) -> Tensors:
        return self.weights()

    def shapes(self) -> dict[str, tuple[int, ...]]:
        self.build()
        return {name: tuple(shape) for name, shape in self._shapes.items()}

    def attribute(self, name: str) -> Any:
        self.build()
        self._session.log.note_reply(has_form=False)
        return _decoded(_returned(self._ask(protocol.Read(module=self.number, name=name))).value)

    def printed(self) -> str:
        self.build()
        self._session.log.note_reply(has_form=False)
        return self._session.printed().decode("utf-8", "replace")

    def load_from(self, other: Any) -> None:
        self.build()
        other.build()
        other.require_worker()
        self._ask(protocol.Transfer(source=other.number, target=self.number))

    def build(self) -> None:
        """Build the module unless it is built already; raise `MisfitError` if the weights do not fit."""
        if self._build is not None:
            self._store_shapes(self._ask(self._build))

    def require_worker(self) -> None:
        """Raise `SubjectDiedError` if the worker in which the module was built is gone."""
        ends = self._session.ends
        if self._build is None and len(ends) > self._workers_before:
            raise SubjectDiedError(f"{ends[-1]} earlier, and the modules built before were lost")

    def _ask(self, message: Request) -> Any:
        """Return the worker's reply. If the module could not be built, the next request builds it."""
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

    def _store_shapes(self, reply: Any) -> None:
        if not isinstance(reply, Built):
            raise unexpected_reply()
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
        if self._is_entry and not method:
            self._session.log.note_entry_call()
        values = None if more is None else [_values(each) for each in more]
        grad = cotangents is not None or (grad and self.grad)
        return self._send(self._call(method, inputs, cotangents=cotangents, more=values, grad=grad))

    def _call(self, method: str, inputs: dict[str, Any], **fields: Any) -> protocol.Call:
        self._session.log.note_call(self._arguments, inputs)
        return protocol.Call(
            module=self.number,
            arguments=_values(inputs),
            method=method,
            training=self.training,
            build=self._build,
            **fields,
        )

    def _send(self, call: protocol.Call) -> Returned:
        reply = self._ask(call)
        if call.build is not None and isinstance(reply, Built):
            self._store_shapes(reply)
        returned = _returned(reply)
        self._after = None if call.cotangents is None else _all_tensors(returned.inputs)
        return returned


class SubjectFactory:
    """Builds the submission's class in the worker."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._count = 0

    def __call__(self, **arguments: Any) -> ModuleProxy:
        return self.build(arguments)

    def build(
        self,
        arguments: dict[str, Any],
        *,
        like: HasWeights | None = None,
        dtype: str = "",
        variation: str = "",
        entry: str = "",
        at_once: bool = True,
        keeps_weights: bool = False,
    ) -> ModuleProxy:
        """Build a module in the worker, with the weights of `like`, or with those of its class if it `keeps_weights`.

        Raises `MisfitError` if the weights of `like` do not fit, and any error from building the module. Unless it is
        built `at_once`, the first request to the module raises them.
        """
        self._count += 1
        weights = None if like is None else {name: from_tensor(value) for name, value in like.weights().items()}
        values = _values(arguments)
        interface = self.session.exercise.interface
        build = Build(
            module=self._count,
            entry=variation or entry or interface.entry(),
            arguments=values,
            dtype=dtype,
            variation=self.session.exercise.variations[variation] if variation else "",
            adapter=None if variation else adapter_of(interface),
            parameters=weights,
            keeps_weights=keeps_weights,
        )
        self.session.log.note_build(arguments)
        module = RemoteProxy(self.session, build, arguments, is_entry=self._builds_entry(build))
        if at_once:
            module.build()
        return module

    def _builds_entry(self, build: Build) -> bool:
        """Return whether the module is the submission's own class or function, or a variation that names it."""
        entry = self.session.exercise.interface.entry()
        return bool(re.search(rf"\b{entry}\b", build.variation)) if build.variation else build.entry == entry


def _values(values: dict[str, Any]) -> dict[str, protocol.Value]:
    return {name: _value(value) for name, value in values.items()}


def _value(value: Any) -> protocol.Value:
    return from_tensor(value) if isinstance(value, torch.Tensor) else from_python(value)


def _returned(reply: Any) -> Returned:
    if not isinstance(reply, Returned):
        raise unexpected_reply()
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
        raise SubjectDiedError(f"sent an invalid tensor ({error})") from None
