"""The `subject` of a trap: proxies that look like the exercise's class or function and ask the subject's worker.

A module's parameters and buffers are mirrored here, so that a test can read, change and optimize them as usual; changes
travel with the next call. Gradients flow through calls. Exceptions arrive as their first built-in type.
"""

import builtins
import sys
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from grader.sandbox.traps import shipping
from grader.sandbox.traps.messages import (
    Bound,
    CallBack,
    Failed,
    Function,
    Handle,
    Model,
    Perform,
    Performed,
    Special,
    State,
    Structure,
    Unknown,
    Value,
    decode_outcome,
    encode,
)
from grader.sandbox.traps.values import Reader, Writer, same

Transport = Callable[[bytes], bytes]
"""Sends a payload to the subject and returns the payload of the answer."""


class Remote:
    """The subject's worker, as the proxies see it."""

    def __init__(self, transport: Transport, name: str, *, is_class: bool) -> None:
        self.name, self.is_class = name, is_class
        self._transport = transport
        self._modules: dict[int, ModuleData] = {}
        self._optimizers: dict[int, OptimizerData] = {}
        self._bound: dict[int, list[torch.Tensor]] = {}
        self._proxies: dict[tuple[int, str], ObjectProxy] = {}
        self._functions: list[Callable[..., Any]] = []
        self._lent: list[torch.Tensor] = []
        """The tensors that functions of the test returned in the current request."""
        self._own_error: BaseException | None = None
        """The exception that such a function raised."""
        self.raised: list[BaseException] = []
        """Exceptions of the subject in the current test."""
        self.run = 0
        """How many runs of tests have begun."""

    def begin(self) -> None:
        """Forget the objects of the last run: the subject is loaded anew, and counts its objects from 1 again."""
        for each in (self._modules, self._optimizers, self._bound, self._proxies, self._functions, self.raised):
            each.clear()
        self.run += 1

    def act(
        self,
        action: str,
        arguments: Sequence[Any] = (),
        keywords: dict[str, Any] | None = None,
        *,
        target: int = 0,
        path: str = "",
        name: str = "",
    ) -> Any:
        """Ask the subject's worker and return the value; raise the subject's exception."""
        models: list[Any] = []
        writer = Writer(lambda value: self._special(value, models, target), takes_iterators=True)
        sent_arguments = [writer.value(each) for each in arguments]
        sent_keywords = {key: writer.value(each) for key, each in (keywords or {}).items()}
        optimizer = self._optimizers.get(target)
        groups = optimizer.changes(writer) if optimizer is not None else []
        writer.require_sendable()
        for model in models:
            shipping.require_unaltered(model)
        shipped = [shipping.pack(model, writer) for model in models]
        data = self._modules.get(target)
        bound = self._bound.get(target, [])
        request = Perform(
            action=action,
            target=target,
            path=path,
            name=name,
            arguments=sent_arguments,
            keywords=sent_keywords,
            state=data.changes(target, writer) if data is not None else None,
            bound=_bound_places(bound, writer),
            groups=groups,
            tensors=writer.tensors,
            shipped=shipped,
            grad=torch.is_grad_enabled() and not torch.is_inference_mode_enabled(),
            inference=torch.is_inference_mode_enabled(),
            generator=bytes(torch.default_generator.get_state().numpy().tobytes()),
            dtype=str(torch.get_default_dtype()).removeprefix("torch."),
        )
        self._lent, self._own_error = [], None
        reply = self._ask(request)
        return self._finish(request, reply, writer, models)

    def _ask(self, request: Perform) -> Performed:
        reply = decode_outcome(self._transport(encode(request)))
        while isinstance(reply, CallBack):
            reply = decode_outcome(self._transport(encode(self._call_back(reply))))
        if reply.printed:
            sys.stdout.write(reply.printed)
        if reply.generator:
            torch.default_generator.set_state(torch.frombuffer(bytearray(reply.generator), dtype=torch.uint8))
        if isinstance(reply, Failed):
            if self._own_error is not None:
                raise self._own_error
            error = _exception(reply)
            self.raised.append(error)
            raise error
        return reply

    def _finish(self, request: Perform, reply: Performed, writer: Writer, models: list[Any]) -> Any:
        """Apply everything that an action changed, and return the value of the action."""
        reader = Reader(reply.tensors, self._object)
        number = request.target
        if request.action == "copy" or (request.action == "build" and self.is_class):
            number = reply.value.number if isinstance(reply.value, Handle) else 0
        if reply.structure is not None:
            self._modules.setdefault(number, ModuleData()).restructure(reply.structure)
        data = self._modules.get(number)
        if reply.state is not None and data is not None:
            data.update(reply.state, reader)
        bound = self._bound.setdefault(number, [])
        with torch.no_grad():
            self._take_tensors(reply, reader, writer, bound)
        bound += [writer.objects[place] for place in reply.joined]
        if reply.groups is not None:
            groups = [{name: reader.value(each) for name, each in group.items()} for group in reply.groups]
            self._optimizers.setdefault(number, OptimizerData()).update(groups)
        received = [shipping.unpack(each, reader) for each in reply.shipped]
        shipping.connect(received, reply.shipped, reader)
        for model, new in zip(models, received, strict=True):
            shipping.copy_back(model, new)
        _take_settings(request, reply)
        if reply.call:
            parameters = list(data.parameters().values()) if data is not None else []
            self._connect_gradients(reply, reader, [*writer.objects, *parameters, *bound])
        return reader.value(reply.value)

    def _take_tensors(self, reply: Performed, reader: Reader, writer: Writer, bound: list[torch.Tensor]) -> None:
        """Copy what the subject has written to arguments, and to the parameters of an optimizer."""
        for place, new in reply.written:
            writer.objects[place].copy_(reader.tensors[new])
        for place, new in reply.lent:
            self._lent[place].copy_(reader.tensors[new])
        _take_bound(reply.bound, reader, bound)

    def _call_back(self, request: CallBack) -> Perform:
        """Call a function of the test, and return the answer for the subject."""
        reader = Reader(request.tensors, self._object)
        bound = self._bound.get(request.target, [])
        writer = Writer(lambda value: self._special_if_returned(value, request.target), takes_iterators=True)
        outer = self._lent
        with torch.no_grad():
            _take_bound(request.bound, reader, bound)
        try:
            with torch.set_grad_enabled(request.grad):
                value = self._functions[request.number](
                    *(reader.value(each) for each in request.arguments),
                    **{name: reader.value(each) for name, each in request.keywords.items()},
                )
            arguments, action = [writer.value(value)], "return"
            writer.require_sendable()
        except BaseException as error:  # noqa: BLE001 - raised again once the subject has the answer
            self._own_error, arguments, action = error, [], "raise"
        self._lent = outer
        sent = _bound_places(bound, writer)
        self._lent += writer.objects
        return Perform(action=action, arguments=arguments, bound=sent, tensors=writer.tensors)

    def _special_if_returned(self, value: Any, target: int) -> Value | None:
        """Like `_special`, for what a function of the test returns to the subject."""
        if isinstance(value, torch.nn.Module | torch.optim.Optimizer):
            raise TypeError("a function that the subject calls cannot return a model; return tensors or plain values")
        return self._special(value, [], target)

    def _special(self, value: Any, models: list[Any], target: int) -> Value | None:
        """Return the message for a value of the test's own; `target` is the object that the message is for."""
        if isinstance(value, torch.Tensor):
            places = [index for index, each in enumerate(self._bound.get(target, [])) if each is value]
            return Bound(number=target, index=places[0]) if places else None
        if isinstance(value, ObjectProxy):
            return value._handle()  # noqa: SLF001 - the number is between the proxies and this class
        if isinstance(value, types.FunctionType | types.MethodType):
            self._functions.append(value)
            return Function(number=len(self._functions) - 1)
        if isinstance(value, torch.nn.Module | torch.optim.Optimizer):
            number = next((number for number, model in enumerate(models) if model is value), len(models))
            if number == len(models):
                models.append(value)
            return Model(number=number)
        return None

    def _connect_gradients(self, reply: Performed, reader: Reader, inputs: list[torch.Tensor]) -> None:
        """Replace the outputs that require gradients by tensors whose backward pass asks the subject."""
        outputs = [_with_own_history(reader.tensors[place]) for place in reply.outputs]

        def backward(gradients: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
            back = Writer(lambda _value: None)
            request = Perform(
                action="backward",
                target=reply.call,
                arguments=[back.value(each) for each in gradients],
                tensors=back.tensors,
            )
            answer = self._ask(request)
            found: list[torch.Tensor | None] = Reader(answer.tensors, self._object).value(answer.value)
            return found

        connected = _Connection.apply(backward, outputs, *inputs)  # type: ignore[no-untyped-call]  # torch leaves it unannotated
        for place, each in zip(reply.outputs, connected, strict=True):
            reader.tensors[place] = each

    def _object(self, value: Special) -> Any:
        if isinstance(value, Handle):
            return self.proxy(value.number, value.path)
        if isinstance(value, Bound):
            return self._bound[value.number][value.index]
        if isinstance(value, Unknown):
            return Opaque(value.description)
        raise TypeError("an unexpected value")

    def proxy(self, number: int, path: str) -> "ObjectProxy":
        """Return the proxy of an object, or of a part of it: always the same one."""
        kind = ObjectProxy
        if number in self._modules:
            kind = SubjectModule
        elif number in self._optimizers and not path:
            kind = SubjectOptimizer
        if (number, path) not in self._proxies:
            self._proxies[number, path] = kind(self, number, path)
        return self._proxies[number, path]

    def groups(self, number: int) -> list[dict[str, Any]]:
        """Return the mirrored parameter groups of an optimizer."""
        return self._optimizers[number].groups

    def data(self, number: int) -> "ModuleData":
        """Return the mirrored data of a module."""
        return self._modules[number]


def _with_own_history(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor of the same memory that is no view: autograd lets nobody write to a view of a custom function."""
    own = torch.empty(0, dtype=tensor.dtype)
    return own.set_(tensor.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())


def _take_settings(request: Perform, reply: Performed) -> None:
    """Change torch's settings as the subject has changed them in its worker."""
    if reply.dtype != request.dtype:
        torch.set_default_dtype(getattr(torch, reply.dtype))
    if not reply.is_grad_enabled:
        torch.set_grad_enabled(not torch.is_grad_enabled())


def _bound_places(bound: list[torch.Tensor], writer: Writer) -> list[tuple[int, int, int]]:
    return [
        (index, writer.place(each.detach()), writer.place(each.grad) if each.grad is not None else -1)
        for index, each in enumerate(bound)
    ]


def _take_bound(places: list[tuple[int, int, int]], reader: Reader, bound: list[torch.Tensor]) -> None:
    """Give an optimizer's parameters the values and gradients that they have in the subject's worker."""
    for index, value, gradient in places:
        if not same(bound[index].data, reader.tensors[value]):
            bound[index].copy_(reader.tensors[value])
        bound[index].grad = reader.tensors[gradient] if gradient >= 0 else None


class _Connection(torch.autograd.Function):
    """A node of the graph whose backward pass runs in the subject's worker."""

    @staticmethod
    def forward(
        ctx: Any, backward: Any, outputs: list[torch.Tensor], *inputs: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        ctx.ask = backward
        ctx.set_materialize_grads(False)
        del inputs
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[Any, ...]:
        return (None, None, *ctx.ask(gradients))


class ModuleData:
    """The parts of a built module, and mirrors of its parameters and buffers."""

    def __init__(self) -> None:
        self.structure = Structure(nodes=[], parameters=[], buffers=[], saved=[])
        self.tensors: dict[str, torch.Tensor] = {}
        self._known: dict[str, torch.Tensor] = {}

    def restructure(self, structure: Structure) -> None:
        """Replace the parts of the module. Tensors of new parts come with `update`."""
        self.structure = structure
        names = {name for name, _ in structure.parameters} | set(structure.buffers)
        self.tensors = {name: each for name, each in self.tensors.items() if name in names}
        self._known = {name: each for name, each in self._known.items() if name in names}

    def update(self, state: State, reader: Reader) -> None:
        """Apply the tensors that the subject has changed."""
        trainable = dict(self.structure.parameters)
        for name, place in state.changed:
            value = reader.tensors[place].detach()
            own = self.tensors.get(name)
            if own is not None:
                own.data = value
            elif name in trainable:
                self.tensors[name] = torch.nn.Parameter(value, requires_grad=trainable[name])
            else:
                self.tensors[name] = value
            self._known[name] = value.clone()

    def changes(self, number: int, writer: Writer) -> State | None:
        """Return the tensors that the test has changed."""
        changed = []
        for name, each in self.tensors.items():
            if not same(self._known[name], each):
                changed.append((name, writer.place(each.detach())))
                self._known[name] = each.detach().clone()
        return State(number=number, changed=changed) if changed else None

    def parameters(self) -> dict[str, torch.nn.Parameter]:
        """Return the parameters, in the module's order."""
        return {name: self.tensors[name] for name, _ in self.structure.parameters}  # type: ignore[misc]  # all are parameters

    def buffers(self) -> dict[str, torch.Tensor]:
        """Return the buffers, in the module's order."""
        return {name: self.tensors[name] for name in self.structure.buffers if name in self.tensors}


class OptimizerData:
    """Mirrors of an optimizer's parameter groups."""

    def __init__(self) -> None:
        self.groups: list[dict[str, Any]] = []
        self._known: list[dict[str, Any]] = []

    def update(self, groups: list[dict[str, Any]]) -> None:
        """Take over the subject's groups. The dictionaries of the test stay the same objects."""
        self.groups += [{} for _ in groups[len(self.groups) :]]
        del self.groups[len(groups) :]
        for own, new in zip(self.groups, groups, strict=True):
            own.clear()
            own.update(new)
        self._known = [{name: _snapshot(each) for name, each in group.items() if name != "params"} for group in groups]

    def changes(self, writer: Writer) -> list[dict[str, Value]]:
        """Return the entries that the test has changed, one dictionary for each group."""
        return [
            {
                name: writer.value(each)
                for name, each in group.items()
                if name != "params" and not (name in known and _is_unchanged(known[name], each))
            }
            for group, known in zip(self.groups, self._known, strict=False)
        ]


def _snapshot(value: Any) -> Any:
    """Return a copy of an entry of a parameter group, without copying objects of the subject."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, tuple | list):
        return [_snapshot(each) for each in value]
    return dict(value) if isinstance(value, dict) else value


def _is_unchanged(known: Any, value: Any) -> bool:
    """Return whether an entry is as in its snapshot."""
    if isinstance(value, torch.Tensor):
        return isinstance(known, torch.Tensor) and same(known, value)
    if isinstance(value, tuple | list):
        is_as_long = isinstance(known, list) and len(known) == len(value)
        return is_as_long and all(_is_unchanged(*pair) for pair in zip(known, value, strict=True))
    return isinstance(value, Opaque) or value is known or (type(value) is type(known) and bool(value == known))


class Opaque:
    """A value of the subject that is not data."""

    def __init__(self, description: str) -> None:
        self.description = description

    def __repr__(self) -> str:
        return f"<{self.description}>"


class ObjectProxy:
    """An object in the subject's worker: its data, and calls of its methods."""

    def __init__(self, remote: Remote, number: int, path: str = "") -> None:
        vars(self).update(_remote=remote, _run=remote.run, _number=number, _path=path)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._act("call", arguments, keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self._act("read", name=name)
        if not isinstance(value, Opaque):
            return value

        def method(*arguments: Any, **keywords: Any) -> Any:
            return self._act("call", arguments, keywords, name=name)

        return method

    def __setattr__(self, name: str, value: Any) -> None:
        self._act("set", [value], name=name)

    def __len__(self) -> int:
        return int(self._act("call", name="__len__"))

    def __getitem__(self, index: Any) -> Any:
        return self._act("call", [index], name="__getitem__")

    def __iter__(self) -> Iterator[Any]:
        steps = self._act("call", name="__iter__")
        while True:
            try:
                yield steps._act("call", name="__next__")  # noqa: SLF001 - another proxy
            except StopIteration:
                return

    def __repr__(self) -> str:
        return f"<{self._remote.name}{'.' if self._path else ''}{self._path}>"

    def __bool__(self) -> bool:
        return True

    def __deepcopy__(self, _memo: dict[int, Any]) -> Any:
        return self._act("copy")

    def _act(self, action: str, arguments: Sequence[Any] = (), keywords: Any = None, *, name: str = "") -> Any:
        return self._current().act(action, arguments, keywords, target=self._number, path=self._path, name=name)

    def _handle(self) -> Handle:
        self._current()
        return Handle(number=self._number, path=self._path)

    def _current(self) -> Remote:
        """Return the remote; raise `RuntimeError` if this object is one of an earlier run."""
        remote: Remote = self._remote
        if remote.run != self._run:
            raise RuntimeError(
                "this object of the subject was built in an earlier test; build it in the test that uses it"
            )
        return remote


class SubjectOptimizer(ObjectProxy):
    """An optimizer in the subject's worker; the test may change its parameter groups."""

    @property  # type: ignore[misc]  # typeshed lets it be set
    def __class__(self) -> Any:
        return torch.optim.Optimizer

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return self._current().groups(self._number)

    @property
    def state(self) -> dict[Any, Any]:
        return defaultdict(dict, self._act("read", name="state"))

    def step(self, *arguments: Any, **keywords: Any) -> Any:
        return self._act("call", arguments, keywords, name="step")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("step", "_opt_called"):  # torch's learning-rate schedulers wrap the method
            vars(self)[name] = value
        else:
            super().__setattr__(name, value)

    def __deepcopy__(self, _memo: dict[int, Any]) -> Any:
        raise TypeError("the subject's optimizer cannot be copied; build another one, and load its state_dict()")


class SubjectModule(ObjectProxy):
    """A module in the subject's worker, or a part of it, with the usual methods of `nn.Module`."""

    @property  # type: ignore[misc]  # typeshed lets it be set
    def __class__(self) -> Any:
        node = next((each for each in self._data.structure.nodes if each.path == self._path), None)
        return getattr(torch.nn, node.type) if node is not None and node.type else torch.nn.Module

    @property
    def _data(self) -> ModuleData:
        return self._current().data(self._number)

    def _full(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def __getattr__(self, name: str) -> Any:
        full = self._full(name)
        if full in self._data.tensors:
            return self._data.tensors[full]
        if any(each.path == full for each in self._data.structure.nodes):
            return self._current().proxy(self._number, full)
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self._data.tensors.get(self._full(name))
        if own is not None and isinstance(value, torch.Tensor):
            own.data = value.detach().clone()
        else:
            super().__setattr__(name, value)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int):
            return self[str(index % len(self))]
        full = self._full(str(index))
        if any(each.path == full for each in self._data.structure.nodes):
            return self._current().proxy(self._number, full)
        return super().__getitem__(index)

    def __len__(self) -> int:
        return sum(1 for _ in self.named_children())

    def __iter__(self) -> Iterator[Any]:
        return self.children()

    def _under(self, tensors: dict[str, Any], prefix: str = "", *, recurse: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield the tensors of this part, with their names in it after a prefix."""
        path = f"{self._path}." if self._path else ""
        for full, each in tensors.items():
            name = full.removeprefix(path)
            if full.startswith(path) and (recurse or "." not in name):
                yield prefix + name, each

    def named_parameters(self, prefix: str = "", recurse: bool = True, **_options: Any) -> Iterator[tuple[str, Any]]:
        return self._under(self._data.parameters(), f"{prefix}." if prefix else "", recurse=recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        return (each for _, each in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True, **_options: Any) -> Iterator[tuple[str, Any]]:
        return self._under(self._data.buffers(), f"{prefix}." if prefix else "", recurse=recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        return (each for _, each in self.named_buffers(recurse=recurse))

    def named_modules(self, memo: Any = None, prefix: str = "", **_options: Any) -> Iterator[tuple[str, Any]]:
        del memo
        for each in self._data.structure.nodes:
            if each.path == self._path or not self._path or each.path.startswith(f"{self._path}."):
                inner = each.path[len(self._path) :].removeprefix(".")
                name = f"{prefix}.{inner}" if prefix and inner else prefix or inner
                yield name, self._current().proxy(self._number, each.path)

    def modules(self) -> Iterator[Any]:
        return (each for _, each in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Any]]:
        return ((name, each) for name, each in self.named_modules() if name and "." not in name)

    def children(self) -> Iterator[Any]:
        return (each for _, each in self.named_children())

    def get_submodule(self, target: str) -> Any:
        return _of_name(self.named_modules(), target, "submodule")

    def get_parameter(self, target: str) -> Any:
        return _of_name(self.named_parameters(), target, "parameter")

    def get_buffer(self, target: str) -> Any:
        return _of_name(self.named_buffers(), target, "buffer")

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> dict[str, torch.Tensor]:
        tensors = self._data.tensors
        saved = {
            name: tensors[own] if keep_vars else tensors[own].detach()
            for name, own in self._data.structure.saved
            if own
        }
        return OrderedDict(self._under(saved, prefix))

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        keys = self._act("call", [dict(state_dict)], {"strict": strict, "assign": assign}, name="load_state_dict")
        kind = torch.nn.modules.module._IncompatibleKeys  # noqa: SLF001 - torch has no public name for it
        return kind(*keys) if isinstance(keys, tuple) and len(keys) == len(kind._fields) else keys

    @property
    def training(self) -> bool:
        return bool(self._act("read", name="training"))

    def train(self, mode: bool = True) -> "SubjectModule":
        self._act("call", [mode], name="train")
        return self

    def eval(self) -> "SubjectModule":
        self._act("call", name="eval")
        return self

    def to(self, *arguments: Any, **keywords: Any) -> "SubjectModule":
        self._act("call", arguments, keywords, name="to")
        return self

    def type(self, dst_type: Any) -> "SubjectModule":
        self._act("call", [dst_type], name="type")
        return self

    def double(self) -> "SubjectModule":
        return self.to(torch.float64)

    def float(self) -> "SubjectModule":
        return self.to(torch.float32)

    def half(self) -> "SubjectModule":
        return self.to(torch.float16)

    def bfloat16(self) -> "SubjectModule":
        return self.to(torch.bfloat16)

    def cpu(self) -> "SubjectModule":
        return self

    def requires_grad_(self, requires_grad: bool = True) -> "SubjectModule":
        self._act("call", [requires_grad], name="requires_grad_")
        for each in self.parameters():
            each.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        for each in self.parameters():
            each.grad = None if set_to_none or each.grad is None else torch.zeros_like(each.grad)

    def apply(self, function: Callable[[Any], Any]) -> "SubjectModule":
        for each in reversed(list(self.modules())):
            function(each)
        return self


def _of_name(pairs: Iterator[tuple[str, Any]], name: str, kind: str) -> Any:
    """Return the part with a name; raise `AttributeError` if there is none, as torch does."""
    parts = dict(pairs)
    if name not in parts:
        raise AttributeError(f"the module has no {kind} {name!r}")
    return parts[name]


def _exception(failed: Failed) -> Exception:
    """Return an exception of the first built-in type among the classes of the subject's exception."""
    for name in failed.types:
        kind = getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            try:
                return kind(failed.text)
            except TypeError:  # UnicodeDecodeError takes more than a text
                continue
    return RuntimeError(failed.text)


class SubjectClass:
    """The exercise's class or function, as a test calls it."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._remote.act("build", arguments, keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"the class itself has no attribute {name} here; build an object with subject(...)")

    def __repr__(self) -> str:
        return self._remote.name
