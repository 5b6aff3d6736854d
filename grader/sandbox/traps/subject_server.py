"""The subject's side of a trap: build it, call it and read its data, as the test worker asks.

The test is not trusted either, and the subject's source is secret. So only data goes back: values, exceptions with
their text, and what was printed. Names with two underscores cannot be read, and no traceback is sent.
"""

import contextlib
import copy
import io
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from msgspec import Struct, structs
from torch.utils.hooks import RemovableHandle

from grader.sandbox.protocol import MAX_TEXT
from grader.sandbox.text import cut, sendable
from grader.sandbox.traps import shipping
from grader.sandbox.traps.messages import (
    MAX_PRINTED,
    Bound,
    CallBack,
    Failed,
    Function,
    Handle,
    Model,
    Node,
    Perform,
    Performed,
    Special,
    State,
    Structure,
    Value,
    decode_perform,
    encode,
)
from grader.sandbox.traps.values import Change, Reader, Writer, noisy, same
from grader.sandbox.values import TORCH_DTYPES, type_name, version_of

READABLE = re.compile(r"(?!__|(?:co|f|tb|gi|cr|ag)_)[A-Za-z_]\w*")
"""Names that a test may read: none with two underscores in front, and none of the attributes of code, frames,
tracebacks, generators and coroutines. They lead to code objects.
"""

UNFILLED = {
    *("to_empty", "new_empty", "new_empty_strided", "resize_", "resize_as_", "set_"),
    *("storage", "untyped_storage", "_typed_storage"),
}
"""Names that a test may not read: they lead to memory that nobody has filled, which may show a source."""

METHODS = ("__len__", "__getitem__", "__iter__", "__next__", "__call__", "")
"""Special methods that a test may call; the empty name is a call of the object itself."""

NOISE_KEY = 88_172_645
"""A number that decides which last bits change."""


Exchange = Callable[[bytes], bytes]
"""Sends a payload to the test, and returns the payload of its next request."""


class _Call(Struct, frozen=True, kw_only=True):
    """A call whose graph waits for a backward pass: the tensors with gradients that went in and came out."""

    outputs: list[torch.Tensor]
    inputs: list[torch.Tensor]
    parameters: list[torch.Tensor]


class _Object:
    """An object that a test has built, with the parameters and buffers as the test last received them."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.known: dict[str, torch.Tensor] = {}
        self.names: tuple[Any, ...] = ()
        self.bound: list[torch.Tensor] = []
        """The parameters of the test that an optimizer, or another object that is no module, has."""


class SubjectServer:
    """The objects that a trap has built from one subject."""

    def __init__(self, namespace: types.ModuleType, entry: str, exchange: Exchange) -> None:
        self._exchange = exchange
        self._target = 0
        self._lent: list[tuple[torch.Tensor, int]] = []
        """The tensors that functions of the test returned, with their versions then."""
        self._subject = vars(namespace)[entry]
        self._objects: dict[int, _Object] = {}
        self._calls: dict[int, _Call] = {}
        self._models: list[Any] = []
        """The models and optimizers that the test passed to the current call."""
        self._made = 0

    def perform(self, payload: bytes, *, noise: bool) -> bytes:
        """Return the encoded reply to an encoded `Perform`. Every exception becomes a reply."""
        request = decode_perform(payload)
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), self._settings(request):
                reply = self._perform(request, _noise if noise else None)
                generator = _generator_state()
        except BaseException as error:  # noqa: BLE001 - a subject may raise SystemExit too
            with contextlib.suppress(Exception):
                return encode(_failed(error, printed.getvalue()))
            return encode(Failed(types=["Exception"], text="an exception that cannot be shown"))
        text = sendable(printed.getvalue()[:MAX_PRINTED])
        return encode(structs.replace(reply, printed=text, generator=generator))

    @contextlib.contextmanager
    def _settings(self, request: Perform) -> Iterator[None]:
        """Use the settings of the test's process: generator, default dtype."""
        if request.generator:
            torch.default_generator.set_state(torch.frombuffer(bytearray(request.generator), dtype=torch.uint8))
        before = torch.get_default_dtype()
        torch.set_default_dtype(TORCH_DTYPES[request.dtype])
        try:
            with torch.inference_mode(mode=request.inference):
                yield
        finally:
            torch.set_default_dtype(before)
            torch.set_grad_enabled(True)

    def _perform(self, request: Perform, change: Change | None) -> Performed:
        reader = Reader(request.tensors, self._special)
        if request.state is not None:
            self._update(self._object(request.state.number), request.state, reader)
        if request.action == "backward":
            return self._backward(request, reader)
        writer = Writer(self._handle_of, change)
        sent = self._as_sent(request, reader)
        models = self._models = [shipping.unpack(each, reader) for each in request.shipped]
        shipping.connect(models, request.shipped, reader)
        arguments = [self._argument(reader, sent, each) for each in request.arguments]
        keywords = {name: self._argument(reader, sent, each) for name, each in request.keywords.items()}
        item = self._objects.get(request.target)
        self._bind(request.bound, item, reader)
        self._regroup(request, item, reader, sent)
        self._target, self._lent = request.target, []
        versions = [version_of(each) for each in sent]
        with torch.set_grad_enabled(request.grad):
            value = self._run(request, arguments, keywords)
            is_grad_enabled = torch.is_grad_enabled()
        dtype = str(torch.get_default_dtype()).removeprefix("torch.")
        is_new = request.action == "copy" or (request.action == "build" and isinstance(self._subject, type))
        self._target = number = self._made if is_new else request.target
        item = self._objects.get(number)
        bound = self._bound_values(item, writer)
        joined = _join(item, sent, is_new=is_new) if item is not None else []
        converted = writer.value(value)
        outputs = [place for place, each in enumerate(writer.objects) if each.requires_grad]
        written = [
            (place, writer.place(each.detach()))
            for place, each in enumerate(sent)
            if version_of(each) != versions[place]
        ]
        lent = [
            (place, writer.place(each.detach()))
            for place, (each, old) in enumerate(self._lent)
            if version_of(each) != old
        ]
        structure, state = self._changes(number, writer) if item is not None else (None, None)
        shipped = [shipping.pack(model, writer) for model in models]
        return Performed(
            value=converted,
            tensors=writer.tensors,
            call=self._remember([writer.objects[each] for each in outputs], reader, item)
            if request.grad and outputs
            else 0,
            outputs=outputs,
            written=written,
            structure=structure,
            state=state,
            bound=bound,
            joined=joined,
            groups=self._groups(item, writer),
            lent=lent,
            shipped=shipped,
            is_grad_enabled=is_grad_enabled == request.grad,
            dtype=dtype,
        )

    def _run(self, request: Perform, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if request.action == "build":
            value = self._subject(*arguments, **keywords)
            if isinstance(self._subject, type):
                self._keep(value)
            return value
        part = self._part(request.target, request.path)
        if request.action == "copy":
            value = copy.deepcopy(part)
            self._keep(value)
            return value
        if request.action == "read":
            _require_readable(request.name)
            return getattr(part, request.name)
        if request.action == "set":
            _require_readable(request.name)
            setattr(part, request.name, arguments[0])
            return None
        if request.name not in METHODS:
            _require_readable(request.name)
        if isinstance(part, str | bytes):  # a text's `format` reads any attribute of its arguments
            raise TypeError("methods of a text cannot be called from a test")
        called = getattr(part, request.name) if request.name else part
        value = called(*arguments, **keywords)
        if request.name == "__iter__" or isinstance(value, RemovableHandle):
            self._keep(value)
            return value
        return None if value is part else value

    def _keep(self, value: Any) -> None:
        """Give an object a number, by which the test names it from now on."""
        self._made += 1
        self._objects[self._made] = _Object(value)

    def _object(self, number: int) -> _Object:
        if number not in self._objects:
            raise ValueError("this object was not built in this test")
        return self._objects[number]

    def _part(self, number: int, path: str) -> Any:
        part = self._object(number).value
        for name in path.split(".") if path else []:
            part = part[int(name)] if name.isdigit() else getattr(part, _require_readable(name))
        return part

    def _special(self, value: Special) -> Any:
        if isinstance(value, Function):
            return self._function(value.number)
        if isinstance(value, Handle):
            return self._part(value.number, value.path)
        if isinstance(value, Bound):
            return self._object(value.number).bound[value.index]
        if isinstance(value, Model):
            return self._models[value.number]
        raise TypeError(f"the subject cannot get {value.description}; give it tensors and plain values")

    def _function(self, number: int) -> Callable[..., Any]:
        """Return a function that calls a function of the test."""

        def call(*arguments: Any, **keywords: Any) -> Any:
            writer = Writer(self._handle_of)
            item = self._objects.get(self._target)
            message = CallBack(
                number=number,
                arguments=[writer.value(each) for each in arguments],
                keywords={name: writer.value(each) for name, each in keywords.items()},
                target=self._target,
                bound=self._bound_values(item, writer),
                tensors=writer.tensors,
                grad=torch.is_grad_enabled(),
            )
            answer = decode_perform(self._exchange(encode(message)))
            while answer.action not in ("return", "raise"):
                before = self._target, self._lent
                reply = self.perform(encode(answer), noise=False)
                self._target, self._lent = before
                answer = decode_perform(self._exchange(reply))
            reader = Reader(answer.tensors, self._special)
            self._bind(answer.bound, item, reader)
            if answer.action == "raise":
                raise RuntimeError("a function of the test raised an exception")
            self._lent += [(each, version_of(each)) for each in reader.tensors]
            return reader.value(answer.arguments[0])

        return call

    def _handle_of(self, value: Any) -> Value | None:
        """Return a handle for an object that a test has built, for a part of it, or for a parameter of the target."""
        if isinstance(value, torch.Tensor):
            target = self._objects.get(self._target)
            places = [index for index, each in enumerate(target.bound if target else []) if each is value]
            return Bound(number=self._target, index=places[0]) if places else None
        for number, item in self._objects.items():
            if item.value is value:
                return Handle(number=number)
            if isinstance(item.value, torch.nn.Module) and isinstance(value, torch.nn.Module):
                for path, part in item.value.named_modules():
                    if part is value:
                        return Handle(number=number, path=path)
        return None

    def _as_sent(self, request: Perform, reader: Reader) -> list[torch.Tensor]:
        """Return the tensors of a request as arguments: leaves that require gradients where the test's do."""
        sent = []
        for place, each in enumerate(request.tensors):
            tensor = reader.tensors[place]
            if each.is_parameter:
                tensor = torch.nn.Parameter(tensor, requires_grad=each.requires_grad)
            elif each.requires_grad and tensor.is_floating_point():
                tensor.requires_grad_()
            reader.tensors[place] = tensor
            with torch.set_grad_enabled(request.grad):
                inner = tensor if each.is_leaf or not each.requires_grad else tensor.view_as(tensor)
            sent.append(inner)
        return sent

    def _argument(self, reader: Reader, sent: list[torch.Tensor], value: Value) -> Any:
        leaves, reader.tensors = reader.tensors, sent
        try:
            return reader.value(value)
        finally:
            reader.tensors = leaves

    def _update(self, item: _Object, state: State, reader: Reader) -> None:
        """Copy the weights that the test has changed into the module."""
        current = _tensors_of(item.value)
        with torch.no_grad():
            for name, place in state.changed:
                if name in current:
                    current[name].data = reader.tensors[place].to(copy=True)
                    item.known[name] = reader.tensors[place].clone()

    def _changes(self, number: int, writer: Writer) -> tuple[Structure | None, State | None]:
        """Return how a module's parts and tensors differ from what the test knows."""
        item = self._objects[number]
        module = item.value
        if not isinstance(module, torch.nn.Module):
            return None, None
        current = _tensors_of(module)
        structure = _structure(module)
        key = (tuple(current), encode(structure))
        is_new = key != item.names
        item.names = key
        exact = self._exact(writer)
        changed = []
        for name, tensor in current.items():
            if name not in item.known or not same(item.known[name], tensor):
                changed.append((name, exact.place(tensor)))
                item.known[name] = tensor.detach().clone()
        return structure if is_new else None, State(number=number, changed=changed) if changed else None

    def _bind(self, bound: list[tuple[int, int, int]], item: _Object | None, reader: Reader) -> None:
        """Give an optimizer's parameters the values and gradients that they have in the test."""
        for index, value, gradient in bound:
            if item is not None and 0 <= index < len(item.bound):
                item.bound[index].data = reader.tensors[value].detach()
                item.bound[index].grad = reader.tensors[gradient].detach() if gradient >= 0 else None

    def _exact(self, writer: Writer) -> Writer:
        """Return a writer into the same message that sends tensors as they are, without noise."""
        exact = Writer(self._handle_of)
        exact.tensors, exact.objects = writer.tensors, writer.objects
        return exact

    def _regroup(self, request: Perform, item: _Object | None, reader: Reader, sent: list[torch.Tensor]) -> None:
        """Change the entries of an optimizer's groups that the test has changed."""
        for group, changed in zip(_groups_of(item), request.groups, strict=False):
            for name, value in changed.items():
                if name != "params":
                    group[name] = self._argument(reader, sent, value)

    def _groups(self, item: _Object | None, writer: Writer) -> list[dict[str, Value]] | None:
        """Return the parameter groups of an optimizer; None for other objects."""
        if item is None or not isinstance(item.value, torch.optim.Optimizer):
            return None
        exact = self._exact(writer)
        return [{str(name): exact.value(value) for name, value in group.items()} for group in _groups_of(item)]

    def _bound_values(self, item: _Object | None, writer: Writer) -> list[tuple[int, int, int]]:
        exact = self._exact(writer)
        return [
            (index, exact.place(each.data), exact.place(each.grad) if each.grad is not None else -1)
            for index, each in enumerate(item.bound if item else [])
        ]

    def _remember(self, outputs: list[torch.Tensor], reader: Reader, item: _Object | None) -> int:
        number = len(self._calls) + 1
        module = item.value if item is not None else None
        parameters: list[torch.Tensor] = (
            [each for _, each in module.named_parameters()] if isinstance(module, torch.nn.Module) else []
        )
        parameters += item.bound if item is not None else []
        self._calls[number] = _Call(outputs=outputs, inputs=list(reader.tensors), parameters=parameters)
        return number

    def _backward(self, request: Perform, reader: Reader) -> Performed:
        """Return the gradients of a call's tensors and parameters: a place for each, or None."""
        call = self._calls[request.target]
        gradients = [reader.value(each) for each in request.arguments]
        with torch.enable_grad():
            terms = [
                (output * gradient).sum()
                for output, gradient in zip(call.outputs, gradients, strict=True)
                if gradient is not None
            ]
            wanted = [each for each in (*call.inputs, *call.parameters) if each.requires_grad]
            found = (
                torch.autograd.grad(sum(terms[1:], start=terms[0]), wanted, allow_unused=True, retain_graph=True)
                if terms and wanted
                else [None] * len(wanted)
            )
        by_id = {id(each): gradient for each, gradient in zip(wanted, found, strict=True)}
        writer = Writer(self._handle_of)
        results = [by_id.get(id(each)) for each in (*call.inputs, *call.parameters)]
        return Performed(value=writer.value(results), tensors=writer.tensors)


def _noise(tensor: torch.Tensor) -> torch.Tensor:
    return noisy(tensor, NOISE_KEY)


def _join(item: _Object, sent: list[torch.Tensor], *, is_new: bool) -> list[int]:
    """Note which tensors of a request have become parameters of an object, and return their places."""
    if isinstance(item.value, torch.optim.Optimizer):
        kept = {id(each) for group in _groups_of(item) for each in group["params"]}
        joined = [place for place, each in enumerate(sent) if id(each) in kept]
    elif is_new and not isinstance(item.value, torch.nn.Module):
        joined = [place for place, each in enumerate(sent) if isinstance(each, torch.nn.Parameter)]
    else:
        return []
    item.bound += [sent[place] for place in joined]
    return joined


def _groups_of(item: _Object | None) -> list[dict[str, Any]]:
    """Return the parameter groups of an optimizer; none for other objects, and for an optimizer without any."""
    value = item.value if item is not None else None
    return getattr(value, "param_groups", []) if isinstance(value, torch.optim.Optimizer) else []


def _require_readable(name: str) -> str:
    if not READABLE.fullmatch(name) or name in UNFILLED:
        raise AttributeError(f"{name} cannot be read from a test")
    return name


def _generator_state() -> bytes:
    return bytes(torch.default_generator.get_state().numpy().tobytes())


def _tensors_of(module: Any) -> dict[str, torch.Tensor]:
    """Return the parameters and buffers of a module by name."""
    if not isinstance(module, torch.nn.Module):
        return {}
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _structure(module: torch.nn.Module) -> Structure:
    names = {id(each): name for name, each in _tensors_of(module).items()}
    nodes = [
        Node(path=path, type=_public_type(part), training=bool(part.training)) for path, part in module.named_modules()
    ]
    saved = [(name, names.get(id(each), "")) for name, each in module.state_dict(keep_vars=True).items()]
    return Structure(
        nodes=nodes,
        parameters=[(name, each.requires_grad) for name, each in module.named_parameters()],
        buffers=[name for name, _ in module.named_buffers()],
        saved=saved,
    )


def _public_type(part: torch.nn.Module) -> str:
    """Return the name of a part's class if it is one of torch's own layers; empty otherwise."""
    kind = type(part)
    return kind.__name__ if getattr(torch.nn, kind.__name__, None) is kind else ""


def _failed(error: BaseException, printed: str) -> Failed:
    text = sendable(str(error))
    names = [type_name(kind) for kind in type(error).__mro__[:20]]
    return Failed(
        types=names, text=cut(text, MAX_TEXT), generator=_generator_state(), printed=sendable(printed[:MAX_PRINTED])
    )
