"""The messages of a trap: envelopes between a test worker and the examiner, and the payloads inside them."""

import socket
from enum import StrEnum
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, field

from grader.sandbox import wire
from grader.sandbox.protocol import MAX_ITEMS, Dimensions, Message, TestRun, Words
from grader.sandbox.wire import MalformedError

MAX_TESTS = 12
"""The most tests of a trap; further tests are ignored."""

MAX_PRINTED = 20_000
"""The most characters of a subject's output that one reply carries."""

Name = Annotated[str, Meta(max_length=300)]
Names = Annotated[list[Name], Meta(max_length=MAX_ITEMS)]


# envelopes


class Collected(Message, frozen=True, kw_only=True):
    """The tests were collected, or they could not be: `problem` says why, and `line` where."""

    names: Names
    problem: Words = ""
    line: int = 0


class Ask(Message, frozen=True, kw_only=True):
    """A request to the subject; answered by `Answer`."""

    payload: bytes


class Answer(Message, frozen=True, kw_only=True):
    """The subject's reply."""

    payload: bytes


class Cause(StrEnum):
    """Why a test failed, by its exception."""

    ASSERTION = "assertion"  # also `pytest.raises` and `pytest.fail`
    CLOSED = "closed"  # the test used a file, a process or the network
    MEMORY = "memory"
    OTHER = "other"


class Finished(Message, frozen=True, kw_only=True):
    """A run of a test has ended."""

    passed: bool
    reason: Words = ""
    """The type and text of the exception; empty if the test passed."""
    cause: Cause = Cause.OTHER
    line: int = 0
    """The line of the trap at which the test failed; 0 means unknown."""
    by_crash: bool = False
    """True if the exception came from the subject."""
    difference: float | None = None
    """The largest difference in the last failed comparison of tensors; None if there was none."""
    tolerance: float = 0.0
    """The difference that this comparison would have allowed."""
    changed: Words = ""
    """The name of the first of torch's settings that the test changed; empty if it changed none."""


class Done(Message, frozen=True, kw_only=True):
    """The test worker runs no more tests."""


TestMessage = Collected | Ask | Finished | Done


# payloads


class Tensor(Message, frozen=True, kw_only=True):
    """A dense CPU tensor with its strides, which are empty if it is contiguous."""

    dtype: Words
    shape: Dimensions
    data: bytes
    strides: Dimensions = field(default_factory=list)
    requires_grad: bool = False
    is_leaf: bool = True
    is_parameter: bool = False


class Ref(Message, frozen=True, kw_only=True):
    """A tensor of the same message, by its place. One tensor that occurs twice has one place."""

    place: int


class Items(Message, frozen=True, kw_only=True):
    """A tuple or a list."""

    items: "Annotated[list[Value], Meta(max_length=MAX_ITEMS)]"
    is_tuple: bool = True


class Pairs(Message, frozen=True, kw_only=True):
    """A dictionary."""

    items: "Annotated[list[tuple[Value, Value]], Meta(max_length=MAX_ITEMS)]"


class Plain(Message, frozen=True, kw_only=True):
    """None, a boolean, a number or a text."""

    value: bool | int | float | Words | None


class Named(Message, frozen=True, kw_only=True):
    """A dtype or a device, by its name; or a slice or an ellipsis."""

    kind: Words
    parts: "Annotated[list[Value], Meta(max_length=3)]" = field(default_factory=list)


class Handle(Message, frozen=True, kw_only=True):
    """An object of the subject's worker: a built object by its number, and a part of it by its path."""

    number: int
    path: Name = ""


class Bound(Message, frozen=True, kw_only=True):
    """A parameter of the test that an object of the subject's worker has, by its index among those of the object."""

    number: int
    index: int


class Model(Message, frozen=True, kw_only=True):
    """A model that the test has built of torch's own layers, and an optimizer of its parameters."""

    number: int


class Function(Message, frozen=True, kw_only=True):
    """A function of the test, such as a closure, which the subject may call."""

    number: int


class Unknown(Message, frozen=True, kw_only=True):
    """A value that cannot be sent, described in a few words."""

    description: Words


Special = Handle | Bound | Model | Function | Unknown
"""Values that mean something to one side alone."""

Value = Ref | Items | Pairs | Plain | Named | Special


class Layer(Message, frozen=True, kw_only=True):
    """A layer of a model of the test: the name of its class in torch.nn, its attributes and its mode."""

    path: Name
    type: Name
    attributes: Pairs
    training: bool
    parameters: list[tuple[Name, int]]
    """Names and places of its own parameters; the place is -1 for one that is None."""
    buffers: list[tuple[Name, int]]


class Shipped(Message, frozen=True, kw_only=True):
    """A model or an optimizer of the test, as a message carries it to the subject's worker and back."""

    layers: Annotated[list[Layer], Meta(max_length=MAX_ITEMS)] = field(default_factory=list)
    optimizer: Name = ""
    """The name of the class in torch.optim; empty for a model."""
    groups: Value = Plain(value=None)
    state: Value = Plain(value=None)
    gradients: list[tuple[int, int]] = field(default_factory=list)
    """Places of parameters, each with the place of its gradient."""


class State(Message, frozen=True, kw_only=True):
    """The changed parameters and buffers of a built module: places by name."""

    number: int
    changed: Annotated[list[tuple[Name, int]], Meta(max_length=MAX_ITEMS)]


class Node(Message, frozen=True, kw_only=True):
    """A part of a built module: the name of its class in torch.nn, or empty."""

    path: Name
    type: Name
    training: bool


class Structure(Message, frozen=True, kw_only=True):
    """The parts, parameters, buffers and saved names of a built module."""

    nodes: Annotated[list[Node], Meta(max_length=MAX_ITEMS)]
    parameters: Annotated[list[tuple[Name, bool]], Meta(max_length=MAX_ITEMS)]
    """Names, and whether they require gradients."""
    buffers: Names
    saved: Annotated[list[tuple[Name, Name]], Meta(max_length=MAX_ITEMS)]
    """The keys of the state dict, each with the parameter or buffer that it saves."""


class Perform(Message, frozen=True, kw_only=True):
    """Do something with the subject; answered by `Performed` or `Failed`.

    `action` is "build" (the subject's own class or function), "call" (an object or a method of it), "read" or "set" (an
    attribute), "copy" (an object or a part of it), or "backward" (of the call with the number `target`, from the
    gradients in `arguments`). The answer to a `CallBack` is "return" or, with the name of an exception, "raise".
    """

    action: Words
    target: int = 0
    path: Name = ""
    name: Name = ""
    arguments: Annotated[list[Value], Meta(max_length=MAX_ITEMS)] = field(default_factory=list)
    keywords: dict[Name, Value] = field(default_factory=dict)
    tensors: Annotated[list[Tensor], Meta(max_length=MAX_ITEMS)] = field(default_factory=list)
    state: State | None = None
    """Weights that the test has changed since the last reply."""
    bound: list[tuple[int, int, int]] = field(default_factory=list)
    """For an optimizer: the numbers of its parameters, with the places of values and gradients (-1: none)."""
    groups: Annotated[list[dict[Name, Value]], Meta(max_length=MAX_ITEMS)] = field(default_factory=list)
    """For an optimizer: the entries that the test has changed, one dictionary for each parameter group."""
    shipped: list[Shipped] = field(default_factory=list)
    grad: bool = True
    inference: bool = False
    generator: bytes = b""
    """The state of torch's generator."""
    dtype: Words = "float32"
    """Torch's default dtype."""


class Performed(Message, frozen=True, kw_only=True):
    """The value of an action and what else it changed."""

    value: Value
    tensors: Annotated[list[Tensor], Meta(max_length=MAX_ITEMS)]
    call: int = 0
    """The number of the call, by which a backward pass names it; 0 if nothing requires a gradient."""
    outputs: Annotated[list[int], Meta(max_length=MAX_ITEMS)] = field(default_factory=list)
    """The places of the tensors in the value that require gradients, in the order of a backward pass."""
    written: Annotated[list[tuple[int, int]], Meta(max_length=MAX_ITEMS)] = field(default_factory=list)
    """The tensors of the request that were written to, with the places of their new values."""
    structure: Structure | None = None
    state: State | None = None
    bound: list[tuple[int, int, int]] = field(default_factory=list)
    joined: list[int] = field(default_factory=list)
    """The places of the request's tensors that have become parameters of the object."""
    groups: Annotated[list[dict[Name, Value]], Meta(max_length=MAX_ITEMS)] | None = None
    """The parameter groups of an optimizer; None for other objects."""
    lent: list[tuple[int, int]] = field(default_factory=list)
    """The tensors that functions of the test returned and that were written to, by their order, with new places."""
    shipped: list[Shipped] = field(default_factory=list)
    generator: bytes = b""
    printed: Annotated[str, Meta(max_length=2 * MAX_PRINTED)] = ""
    is_grad_enabled: bool = True
    dtype: Words = "float32"


class Failed(Message, frozen=True, kw_only=True):
    """An action raised an exception: the names of its class and its bases, and its text."""

    types: Names
    text: Words
    generator: bytes = b""
    printed: Annotated[str, Meta(max_length=2 * MAX_PRINTED)] = ""


class CallBack(Message, frozen=True, kw_only=True):
    """The subject calls a function of the test; the next request is the answer, or something that the function does."""

    number: int
    arguments: Annotated[list[Value], Meta(max_length=MAX_ITEMS)]
    keywords: dict[Name, Value]
    tensors: Annotated[list[Tensor], Meta(max_length=MAX_ITEMS)]
    target: int
    bound: list[tuple[int, int, int]]
    grad: bool


encode = msgspec.msgpack.Encoder().encode
decode_perform = msgspec.msgpack.Decoder(Perform).decode
_outcomes: "msgspec.msgpack.Decoder[Performed | Failed | CallBack]" = msgspec.msgpack.Decoder(
    Performed | Failed | CallBack
)
decode_outcome = _outcomes.decode
_test_messages: "msgspec.msgpack.Decoder[TestMessage]" = msgspec.msgpack.Decoder(TestMessage)
_answers: "msgspec.msgpack.Decoder[Answer]" = msgspec.msgpack.Decoder(Answer)
_runs: "msgspec.msgpack.Decoder[TestRun]" = msgspec.msgpack.Decoder(TestRun)

Decoded = TypeVar("Decoded")


def send(connection: socket.socket, message: Message) -> None:
    """Send an envelope."""
    wire.send(connection, encode(message))


def receive_test_message(connection: socket.socket, deadline: float, kept: bytearray | None = None) -> TestMessage:
    """Return the next envelope of a test worker. `kept` as for `wire.receive`.

    Raises `TimeoutError` after the deadline (on `time.monotonic`), `MalformedError` or `ClosedError`.
    """
    return _decode(_test_messages, wire.receive(connection, deadline, kept))


def receive_answer(connection: socket.socket) -> Answer:
    """Return the next answer; see `receive_test_message`."""
    return _decode(_answers, wire.receive(connection))


def receive_run(connection: socket.socket) -> TestRun:
    """Return the next run; see `receive_test_message`."""
    return _decode(_runs, wire.receive(connection))


def _decode(decoder: "msgspec.msgpack.Decoder[Decoded]", body: bytes) -> Decoded:
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise MalformedError(str(error)) from error
