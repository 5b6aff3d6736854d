"""Messages between examiner and worker: typed, bounded, tensors as raw bytes with dtype and shape."""

import socket
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from grader.sandbox import wire
from grader.sandbox.wire import MalformedError

MAX_TEXT = 2000
"""The most characters of a text in a message. A longer text is cut, and the message says by how much."""

MAX_TREE_TEXT = 200_000
"""The most characters of syntax trees in a message; larger submissions are compared only by their outcomes."""

MAX_ITEMS = 1000
"""The most items of a container, parameters of a module or methods of a class in a message."""

TAG = "message"
"""The key that names the type of a message and of each value in it."""

MAX_MESSAGES = 50_000
"""The most values in a reply. A forged reply of 64 MB could contain millions of values, which take seconds to read."""

Words = Annotated[str, Meta(max_length=2 * MAX_TEXT)]
"""A text from a worker. The limit also applies to forged replies."""

MAX_DIMENSIONS = 64
"""The most dimensions of torch's own operations. The product of a million large sizes would take hours."""

MAX_AXIS = 2**40
"""The largest size of an axis. If another axis has size 0, the tensor needs no memory."""

Axis = Annotated[int, Meta(ge=0, le=MAX_AXIS)]
Dimensions = Annotated[list[Axis], Meta(max_length=MAX_DIMENSIONS)]


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field=TAG, tag=True):
    """A request or a reply."""


class TensorValue(Message, frozen=True, kw_only=True):
    """A dense CPU tensor: its dtype's name, its shape, and its elements in row-major order."""

    dtype: Words
    shape: Dimensions
    data: bytes


class Sequence(Message, frozen=True, kw_only=True):
    """A tuple or a list."""

    items: "Annotated[list[Value], Meta(max_length=MAX_ITEMS)]"
    is_tuple: bool = True


class Mapping(Message, frozen=True, kw_only=True):
    """A dict with text keys."""

    items: "Annotated[dict[Words, Value], Meta(max_length=MAX_ITEMS)]"


class Scalar(Message, frozen=True, kw_only=True):
    """None, a boolean, a number or a text."""

    value: bool | int | float | Words | None


class Other(Message, frozen=True, kw_only=True):
    """A value that cannot be sent, described in a few words."""

    description: Words


Value = TensorValue | Sequence | Mapping | Scalar | Other


class Source(Message, frozen=True, kw_only=True):
    """A source text that is compiled by itself; `label` is its file name in tracebacks."""

    label: str
    text: str


class Load(Message, frozen=True, kw_only=True):
    """Run the submission as module `name`, with torch's default dtype `dtype`; answered by `Loaded` or `Raised`."""

    chunks: list[Source]
    entry: str
    dtype: str = "float32"
    name: str = "attention"


class Parse(Message, frozen=True, kw_only=True):
    """Parse the source without running it; answered by `Parsed` or `Raised`."""

    chunks: list[Source]


class AdapterSpec(Message, frozen=True, kw_only=True):
    """How to turn a submission's function or class into a module: with the class `Adapter` of `module` in `probes`."""

    module: str
    inputs: list[str]
    by_position: bool


class Build(Message, frozen=True, kw_only=True):
    """Build a module and store it under the number `module`; answered by `Built` or `Raised`.

    A `variation` is source that runs beside the submission and defines `entry`. Without it, `entry` is the
    submission's own, in an `adapter` if it is not a module. `parameters` are copied by name. Without them, matrices of
    unusually small or large numbers get random values, unless the module `keeps_weights`. Without a `dtype` the module
    keeps the dtype in which it was built.
    """

    module: int
    entry: str
    arguments: dict[str, Value]
    dtype: str = ""
    variation: str = ""
    adapter: AdapterSpec | None = None
    parameters: dict[str, TensorValue] | None = None
    keeps_weights: bool = False


class Call(Message, frozen=True, kw_only=True):
    """Call a module or a method of it; answered by `Returned` or `Raised`.

    `probe` names a function `module.function` in `probes`, which is called with the module, the arguments and
    `options`. `cotangents`, one for each floating-point output, request the inputs after the call and the gradients of
    the sum of outputs times cotangents. `build` builds the module first; if weights do not fit, the answer is `Built`.
    `more` requests another call for each of its entries, which replace or extend the arguments; the value is then the
    list of all values. Without `grad`, calls run under `no_grad`.
    """

    module: int
    arguments: dict[str, Value]
    method: str = ""
    training: bool = False
    cotangents: list[TensorValue] | None = None
    build: Build | None = None
    more: list[dict[str, Value]] | None = None
    grad: bool = True
    probe: str = ""
    options: dict[str, Value] = {}


class Read(Message, frozen=True, kw_only=True):
    """Read an attribute of a module; answered by `Returned` or `Raised`.

    Without a name, read the weights, or the last call's inputs in their state after that call. The answer has them in
    `inputs`.
    """

    module: int
    name: str = ""
    weights: bool = False


class Transfer(Message, frozen=True, kw_only=True):
    """Load the state dict of one module into another; answered by `Returned` or `Raised`."""

    source: int
    target: int


class TestRun(Message, frozen=True, kw_only=True):
    """One run of one test of a trap: its number among the collected tests, and the seed of its random numbers.

    The test worker answers it by `Finished` of `traps/messages.py`, after any number of `Ask`.
    """

    test: int
    seed: int


class RunTests(Message, frozen=True, kw_only=True):
    """Run the tests of a trap; answered by the messages of `traps/messages.py`, and the last request to a worker.

    `name` is the name of the subject's class or function, and `is_class` says which it is. The runs follow, one
    `TestRun` at a time, so that no test learns how many there are.
    """

    source: Source
    name: str
    is_class: bool


class Act(Message, frozen=True, kw_only=True):
    """Do what a test of a trap asks of the subject; answered by `Acted`.

    The payload is a `Perform` of `traps/messages.py`. With `noise`, the last bits of the values change.
    """

    payload: bytes
    noise: bool = False


Request = Load | Parse | Build | Call | Read | Transfer | RunTests | Act


class Location(Message, frozen=True, kw_only=True):
    """A line of the submission, from a worker. `column` counts from 1; 0 means unknown."""

    label: Words
    line: int
    text: Words
    column: int = 0


class Raised(Message, frozen=True, kw_only=True):
    """The submission raised an exception of the class `type`, with these bases and this text.

    `location` is the submission's own line, and `operation` names the operation there ("view"). `is_building` is true
    if the exception was raised while building a module, `is_kits` if the worker reports that the kit's own code failed.
    """

    type: Words
    bases: Annotated[list[Words], Meta(max_length=MAX_ITEMS)]
    text: Words
    location: Location | None = None
    operation: Words = ""
    is_building: bool = False
    is_kits: bool = False


class Loaded(Message, frozen=True, kw_only=True):
    """The submission ran. `trees` are its methods' syntax trees; `tolerated` is an exception in a notebook cell."""

    classes: Annotated[list[Words], Meta(max_length=MAX_ITEMS)]
    entry_found: bool
    entry_is_module: bool
    trees: Annotated[dict[Words, Annotated[str, Meta(max_length=MAX_TREE_TEXT)]], Meta(max_length=MAX_ITEMS)]
    tolerated: Raised | None = None


class Parsed(Message, frozen=True, kw_only=True):
    """The fingerprint of a syntax tree: the same for sources that differ only in layout and comments."""

    fingerprint: Words


class Misfit(Message, frozen=True, kw_only=True):
    """A parameter that does not fit the weights of the reference.

    Without a `shape` there is no such parameter, or it is part of something that the module has twice: `part` is the
    same object as `same_as`.
    """

    name: Words
    expected: Dimensions
    shape: Dimensions | None = None
    part: Words = ""
    same_as: Words = ""


class Built(Message, frozen=True, kw_only=True):
    """A module was built: the shapes of its parameters, and those that do not fit the weights of the reference."""

    parameters: Annotated[dict[Words, Dimensions], Meta(max_length=MAX_ITEMS)]
    misfits: Annotated[list[Misfit], Meta(max_length=MAX_ITEMS)]


Gradients = Annotated[dict[Words, TensorValue | None], Meta(max_length=MAX_ITEMS)]


class Returned(Message, frozen=True, kw_only=True):
    """The value of a call; on request, the inputs after it and the gradients by name.

    `changed` describes the first of torch's own settings that a call has changed.
    """

    value: Value
    inputs: Annotated[dict[Words, TensorValue], Meta(max_length=MAX_ITEMS)] = {}
    parameter_gradients: Gradients = {}
    input_gradients: Gradients = {}
    changed: Words = ""


class Acted(Message, frozen=True, kw_only=True):
    """The reply to a test: a `Performed` or `Failed` of `traps/messages.py`."""

    payload: bytes


class Isolation(Message, frozen=True, kw_only=True):
    """The protections of this worker.

    A worker is always a process of its own, so `process` is true. Attempts to break out prove the other protections
    before the submission arrives. `problems` gives the reason for each of the kernel's layers that is missing.
    """

    process: bool
    filesystem: bool
    network: bool
    syscalls: bool
    memory: bool
    problems: dict[Words, Words] = {}


Reply = Isolation | Loaded | Parsed | Built | Returned | Raised | Acted


_encode = msgspec.msgpack.Encoder().encode
_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


def send(connection: socket.socket, message: Message) -> None:
    """Send a message; raise `ClosedError` if the other side is gone, `MalformedError` if the message is too large."""
    wire.send(connection, _encode(message))


def receive_request(connection: socket.socket) -> Request:
    """Wait for the next request and return it."""
    return _requests.decode(wire.receive(connection))


def receive_reply(connection: socket.socket, deadline: float, kept: bytearray | None = None) -> Reply:
    """Return the next reply. `kept` as for `wire.receive`.

    Raises `TimeoutError` after the deadline (on `time.monotonic`), `MalformedError` or `ClosedError`.
    """
    body = wire.receive(connection, deadline, kept)
    if body.count(TAG.encode()) > MAX_MESSAGES:
        raise MalformedError(f"more than {MAX_MESSAGES:,} values in one reply")
    try:
        return _replies.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise MalformedError(str(error)) from error
