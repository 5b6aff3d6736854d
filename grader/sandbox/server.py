"""The worker's loop: receive a request, run the submission, send a reply. Errors become replies too."""

import ast
import contextlib
import linecache
import socket
import sys
import types
from collections.abc import Callable
from typing import Any

import torch
from msgspec import structs

from grader.sandbox import probes
from grader.sandbox.global_state import GlobalState
from grader.sandbox.imports import import_lazily
from grader.sandbox.overriding import let_override_forward
from grader.sandbox.protocol import (
    MAX_TEXT,
    Act,
    Acted,
    Build,
    Built,
    Call,
    Load,
    Loaded,
    Location,
    Message,
    Parse,
    Parsed,
    Raised,
    Read,
    Request,
    Returned,
    RunTests,
    Transfer,
    Value,
    receive_request,
    send,
)
from grader.sandbox.subject import Subject
from grader.sandbox.syntax_trees import compiled, fingerprint, method_trees, operation_at
from grader.sandbox.text import cut, sendable
from grader.sandbox.torch_import import Nothing, stub_compiler, warm_up
from grader.sandbox.traps.subject_server import SubjectServer
from grader.sandbox.values import (
    TORCH_DTYPES,
    backward,
    copy_parameters,
    from_each,
    from_python,
    from_tensors,
    gradient_of,
    seed,
    to_python,
    type_name,
    with_shared_parts,
)
from grader.sandbox.wire import ClosedError, MalformedError

IPYTHON = "get_ipython"
"""The function that notebooks, and modules exported from them, call for magics."""


class OwnFaultError(Exception):
    """The kit's own code failed, without any code of the submission."""


class Server:
    """A submission, loaded once, and the modules built from it."""

    def __init__(self, connection: socket.socket | None = None) -> None:
        self._connection = connection
        self.namespace = types.ModuleType("")
        self.chunks: dict[str, list[str]] = {}
        self.subjects: dict[int, Subject] = {}
        self._modes: dict[int, bool] = {}
        self._is_building = False
        self._inputs: dict[str, torch.Tensor] = {}
        self._state = GlobalState()
        self._for_tests: SubjectServer | None = None

    def answer(self, request: Request) -> Message:
        """Return the reply to a request. Every exception but `OwnFaultError` is the submission's."""
        self._is_building = False
        try:
            reply = self._dispatch(request)
            self._check_state()
        except BaseException as error:  # noqa: BLE001 - a submission may raise SystemExit too
            return self.describe(error)
        changed = self._state.changed
        return structs.replace(reply, changed=changed) if changed and isinstance(reply, Returned) else reply

    def describe(self, error: BaseException) -> Raised:
        """Return the reply for an exception, even if the exception's own methods raise."""
        try:
            return self._raised(error)
        except BaseException:  # noqa: BLE001 - the exception's class may be the submission's
            return Raised(type="an exception that cannot be shown", bases=[], text="")

    def _check_state(self) -> None:
        try:
            self._state.check()
        except Exception as error:
            if self._location(error)[0] is None:  # else the submission has replaced one of torch's functions
                raise OwnFaultError(f"{type_name(type(error))}: {error}") from error
            raise

    def _subject(self, number: int) -> Subject:
        if number not in self.subjects:
            raise OwnFaultError(f"module {number} was never built in this worker")
        return self.subjects[number]

    def _module(self, number: int) -> Any:
        return self._subject(number).module

    def _dispatch(self, request: Request) -> Message:
        if isinstance(request, Load):
            return self._load(request)
        if isinstance(request, Parse):
            return Parsed(fingerprint=fingerprint(request.chunks))
        if isinstance(request, Build):
            return self._build(request)
        if isinstance(request, Call):
            return self._call(request)
        if isinstance(request, Read):
            if not request.name:
                weights = dict(self._module(request.module).named_parameters()) if request.weights else self._inputs
                return Returned(value=from_python(None), inputs=from_tensors(weights))
            return Returned(value=from_python(getattr(self._module(request.module), request.name)))
        if isinstance(request, Act):
            return self._act(request)
        if isinstance(request, RunTests):
            raise OwnFaultError("this worker has run a submission, so it runs no tests")
        return self._transfer(request)

    def _act(self, request: Act) -> Acted:
        if self._for_tests is None:
            raise OwnFaultError("no subject is loaded")
        return Acted(payload=self._for_tests.perform(request.payload, noise=request.noise))

    def _load(self, request: Load) -> Message:
        seed()
        torch.set_default_dtype(TORCH_DTYPES[request.dtype])
        self.namespace = sys.modules[request.name] = types.ModuleType(request.name)
        if len(request.chunks) == 1:
            self.namespace.__file__ = request.chunks[0].label  # as in any imported file; a notebook has none
        for chunk in request.chunks:
            lines = chunk.text.split("\n")
            self.chunks[chunk.label] = lines
            linecache.cache[chunk.label] = (len(chunk.text), None, [line + "\n" for line in lines], chunk.label)
        if any(IPYTHON in chunk.text for chunk in request.chunks):
            vars(self.namespace)[IPYTHON] = Nothing()  # as in a notebook, but without an effect
        parsed: list[tuple[str, ast.Module]] = []
        tolerated: Raised | None = None

        def tolerate(error: BaseException) -> None:
            nonlocal tolerated
            if len(request.chunks) == 1:
                raise error
            tolerated = tolerated or self._raised(error)  # another cell of the notebook may still define the class

        for chunk in request.chunks:
            try:
                parsed.append((chunk.label, ast.parse(chunk.text, chunk.label)))
            except (SyntaxError, ValueError) as error:
                tolerate(error)
        import_lazily([tree for _, tree in parsed])
        trees = method_trees([tree for _, tree in parsed])
        for label, tree in parsed:
            try:
                exec(compile(tree, label, "exec"), self.namespace.__dict__)  # noqa: S102 - the only place where a submission runs
            except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - raised again, or tolerated
                tolerate(error)
        self._state = GlobalState()
        is_found = request.entry in vars(self.namespace)
        self._for_tests = SubjectServer(self.namespace, request.entry, self._exchange) if is_found else None
        return self._loaded(request, trees, tolerated)

    def _exchange(self, payload: bytes) -> bytes:
        """Send a payload to the test in the middle of a request, and return the payload of its next request."""
        assert self._connection is not None
        send(self._connection, Acted(payload=payload))
        request = receive_request(self._connection)
        if not isinstance(request, Act):
            raise OwnFaultError("a call of a function of the test was not answered")
        return request.payload

    def _loaded(self, request: Load, trees: dict[str, str], tolerated: Raised | None) -> Loaded:
        names, entry = self.namespace.__dict__, request.entry
        own = [name for name, each in names.items() if isinstance(each, type) and each.__module__ == request.name]
        found = names.get(entry)
        is_module = isinstance(found, type) and issubclass(found, torch.nn.Module)
        return Loaded(
            classes=[name[:MAX_TEXT] for name in own[:50]],
            entry_found=entry in names,
            entry_is_module=is_module,
            trees=trees,
            tolerated=tolerated,
        )

    def _build(self, request: Build) -> Built:
        self._is_building = True
        seed()
        self._state.note_seed()  # the constructor must not change it
        build = self._constructor(request)
        arguments = {name: to_python(value) for name, value in request.arguments.items()}
        module = build(**arguments)
        if request.dtype:
            module = module.to(TORCH_DTYPES[request.dtype])
        is_wrapped = bool(request.adapter or request.variation)
        self.subjects[request.module] = Subject(module=module, build=build, arguments=arguments, is_wrapped=is_wrapped)
        self._modes.pop(request.module, None)
        parameters = dict(module.named_parameters())
        misfits = [] if request.keeps_weights else copy_parameters(parameters, request.parameters or {})
        misfits = with_shared_parts(module, misfits) if misfits else []
        shapes = {name: list(parameter.shape) for name, parameter in parameters.items()}
        self._is_building = False
        return Built(parameters=shapes, misfits=misfits)

    def _constructor(self, request: Build) -> Callable[..., Any]:
        if not request.variation:
            return probes.constructor(self.namespace, request.entry, request.adapter)
        names: dict[str, Any] = {"submission": self.namespace, "torch": torch}
        exec(compiled(request.variation), names)  # noqa: S102 - beside the submission
        variation: type = names[request.entry]
        let_override_forward(variation, {each for each in names.values() if isinstance(each, type)})
        return variation

    def _call(self, request: Call) -> Returned | Built:
        if request.build is not None:
            built = self._build(request.build)
            if built.misfits:
                return built
        module = self._module(request.module)
        if self._modes.get(request.module) is not request.training:
            module.train(request.training)
            self._modes[request.module] = request.training
        if request.cotangents is not None:
            module.zero_grad(set_to_none=True)
        with contextlib.nullcontext() if request.grad else torch.no_grad():
            if request.more is not None:
                each = [request.arguments, *({**request.arguments, **others} for others in request.more)]
                return Returned(value=from_each(self._run(request, arguments) for arguments in each))
            value = self._run(request, request.arguments)
        answer = from_python(value)
        if request.cotangents is None:
            return Returned(value=answer)
        tensors = self._inputs
        after = from_tensors(tensors)
        if not backward(value, request.cotangents):
            return Returned(value=answer, inputs=after)
        parameter_gradients = {name: gradient_of(parameter) for name, parameter in module.named_parameters()}
        input_gradients = {name: gradient_of(tensor) for name, tensor in tensors.items() if tensor.requires_grad}
        return Returned(
            value=answer, inputs=after, parameter_gradients=parameter_gradients, input_gradients=input_gradients
        )

    def _run(self, request: Call, given: dict[str, Value]) -> Any:
        """Make one call and return its value."""
        module = self._module(request.module)
        arguments = {name: to_python(value) for name, value in given.items()}
        self._inputs = {name: value for name, value in arguments.items() if isinstance(value, torch.Tensor)}
        if request.cotangents is not None:
            for tensor in self._inputs.values():
                tensor.requires_grad_(tensor.is_floating_point())
        if request.probe:
            options = {name: to_python(value) for name, value in request.options.items()}
            value = probes.probe_named(request.probe)(self._subject(request.module), arguments, **options)
        else:
            value = self._call_plainly(request, arguments)
        self._state.compare("torch's grad mode", request.grad, torch.is_grad_enabled())
        self._state.compare("the module's training", request.training, module.training)
        return value

    def _call_plainly(self, request: Call, arguments: dict[str, Any]) -> Any:
        """Call the module or one of its methods, and note whether that changes a part's mode, torch's seed, or which
        inputs and parameters require gradients.
        """
        subject = self._subject(request.module)
        flags, drawn = subject.flags(subject.module), torch.get_rng_state()
        learns = {} if subject.is_wrapped else {name: each.requires_grad for name, each in self._inputs.items()}
        value = (getattr(subject.module, request.method) if request.method else subject.module)(**arguments)
        self._state.compare_seeding(drawn)
        for name, flag in subject.flags(subject.module).items():
            self._state.compare(name, flags.get(name, flag), flag)
        for name, before in learns.items():
            self._state.compare(f"requires_grad of the input {name}", before, self._inputs[name].requires_grad)
        return value

    def _transfer(self, request: Transfer) -> Returned:
        source, target = self._module(request.source), self._module(request.target)
        target.load_state_dict(source.state_dict())
        torch.nn.Sequential(target).load_state_dict(torch.nn.Sequential(source).state_dict())  # in larger models
        return Returned(value=from_python(None))

    def _raised(self, error: BaseException) -> Raised:
        kind = type(error)
        bases = [type_name(base) for base in kind.__mro__[:20]]
        try:
            text = sendable(str(error.msg if isinstance(error, SyntaxError) else error))
        except BaseException:  # noqa: BLE001 - __str__ may be the submission's
            text = "(its message cannot be shown)"
        location, operation = self._location(error)
        return Raised(
            type=type_name(kind),
            bases=bases,
            text=cut(text, MAX_TEXT),
            location=location,
            operation=operation[:MAX_TEXT],
            is_building=self._is_building,
            is_kits=kind is OwnFaultError,
        )

    def _location(self, error: BaseException) -> tuple[Location | None, str]:
        """Return the submission's innermost line in a traceback, and the operation there."""
        if isinstance(error, SyntaxError) and error.filename in self.chunks:
            return self._line(str(error.filename), error.lineno or 1, error.offset or 0), ""
        innermost, trace = None, error.__traceback__
        while trace is not None:
            innermost = trace if trace.tb_frame.f_code.co_filename in self.chunks else innermost
            trace = trace.tb_next
        if innermost is None:
            return None, ""
        label = innermost.tb_frame.f_code.co_filename
        operation = operation_at(innermost.tb_frame.f_code, innermost.tb_lasti, self.chunks[label])
        return self._line(label, innermost.tb_lineno), operation

    def _line(self, label: str, line: int, column: int = 0) -> Location:
        lines = self.chunks[label]
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        return Location(label=label, line=line, text=text[:MAX_TEXT], column=column)


def serve(connection: socket.socket) -> None:
    """Answer requests until the examiner closes the connection."""
    stub_compiler()
    warm_up()  # usually before the first request, since workers are started ahead
    server = Server(connection)
    while True:
        try:
            request = receive_request(connection)
        except ClosedError:
            return
        if isinstance(request, RunTests) and not server.chunks:
            from grader.sandbox.traps.test_server import run_tests  # needs pytest, which grading does not

            run_tests(connection, request)
            return
        reply = server.answer(request)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # noqa: BLE001, S110 - the submission may have replaced the stream
                pass
        _send_reply(connection, server, reply)


def _send_reply(connection: socket.socket, server: Server, reply: Message) -> None:
    """Send the reply, or the error if it is too large or contains an invalid text."""
    try:
        send(connection, reply)
    except (MalformedError, ValueError, TypeError, OverflowError) as error:
        send(connection, server.describe(error))
