"""Messages between examiner and worker: typed, bounded, tensors as raw bytes with dtype and shape."""

import socket
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from grader.sandbox import wire
from grader.sandbox.wire import MalformedError

MAX_TEXT = 2000
"""Characters of a message or name that travel; the rest is cut and counted."""

MAX_TREE_TEXT = 200_000
"""Characters of syntax tree that travel; larger submissions are told apart by their outcomes alone."""

MAX_ITEMS = 1000
"""Items of a container, parameters of a module or methods of a class that travel."""

TAG = "message"
"""The key that says what a message is; every value in a reply bears it."""

MAX_MESSAGES = 50_000
"""As often it may stand in a reply: a forged one of 64 MB would hold millions of values, and take seconds to read."""

Words = Annotated[str, Meta(max_length=2 * MAX_TEXT)]
"""What a worker may say in words: a forged reply is held to it too."""

MAX_DIMENSIONS = 64
"""As many as torch's own operations take. To multiply out a shape of a million large sizes would take hours."""

MAX_AXIS = 2**40
"""The size of an axis; beside one without elements it need not fit into any memory."""

Axis = Annotated[int, Meta(ge=0, le=MAX_AXIS)]
Dimensions = Annotated[list[Axis], Meta(max_length=MAX_DIMENSIONS)]


class Message(Struct, frozen=True, forbid_unknown_fields=True, tag_field=TAG, tag=True):
    """A request or a reply."""


class TensorValue(Message, frozen=True):
    """A dense CPU tensor: its dtype's name, its shape, and its elements in row-major order."""

    dtype: Words
    shape: Dimensions
    data: bytes


class Sequence(Message, frozen=True):
    """A tuple or a list."""

    items: "Annotated[list[Value], Meta(max_length=MAX_ITEMS)]"
    is_tuple: bool = True


class Mapping(Message, frozen=True):
    """A dict with text keys."""

    items: "Annotated[dict[Words, Value], Meta(max_length=MAX_ITEMS)]"


class Scalar(Message, frozen=True):
    """None, a truth value, a number or a text."""

    value: bool | int | float | Words | None


class Other(Message, frozen=True):
    """Something that does not travel, described in a few words."""

    description: Words


Value = TensorValue | Sequence | Mapping | Scalar | Other


class Source(Message, frozen=True):
    """Source text that is compiled on its own; `label` is what tracebacks call it."""

    label: str
    text: str


class Load(Message, frozen=True):
    """Run the submission as module `name`, torch's default dtype being `dtype`; answered by `Loaded` or `Raised`."""

    chunks: list[Source]
    entry: str
    dtype: str = "float32"
    name: str = "attention"


class Parse(Message, frozen=True):
    """Parse the source and run nothing of it; answered by `Parsed` or `Raised`."""

    chunks: list[Source]


class Adapter(Message, frozen=True):
    """How a submission's function or class is made a module: by the `Adapter` of a module in `probes`."""

    probe: str
    inputs: list[str]
    by_position: bool


class Build(Message, frozen=True):
    """Build a module and keep it under `module`; answered by `Built` or `Raised`.

    `probe` is source run beside the submission, which defines `entry`; else `entry` is the submission's own, in an
    `adapter` where it is no module. `parameters` are copied by name. Without a `dtype` the module stays in the one it
    was built in.
    """

    module: int
    entry: str
    arguments: dict[str, Value]
    dtype: str = ""
    probe: str = ""
    adapter: Adapter | None = None
    parameters: dict[str, TensorValue] | None = None


class Call(Message, frozen=True):
    """Call a module or a method of it; answered by `Returned` or `Raised`.

    With `probe`, `module.function` in `probes`, that function is called with the module, the arguments and `options`.

    With `cotangents`, one for each floating-point output tensor, the gradients of the sum of products and the inputs
    come back too. With `build`, the module is built first; where weights do not fit into it, `Built` is all the answer.
    With `more`, it is called once more for each of these, added to the arguments or in place of some, and the value is
    a list of what each call returned. Without `grad`, nothing is kept for a backward pass.
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


class Read(Message, frozen=True):
    """Read an attribute of a module; without a name the inputs that the last call left, or the weights, in `inputs`."""

    module: int
    name: str = ""
    weights: bool = False


class Transfer(Message, frozen=True):
    """Load the state dict of one module into another; answered by `Returned` or `Raised`."""

    source: int
    target: int


Request = Load | Parse | Build | Call | Read | Transfer


class Location(Message, frozen=True):
    """A line of the submission, as a worker tells it; `column` counts from 1, or is 0 where it is not known."""

    label: Words
    line: int
    text: Words
    column: int = 0


class Raised(Message, frozen=True):
    """The submission raised: the exception's class, its bases' names, its text and the submission's own line.

    `operation` names what was done there ("view"), `is_building` that a module was built, `is_kits` whose code it was.
    """

    type: Words
    bases: Annotated[list[Words], Meta(max_length=MAX_ITEMS)]
    text: Words
    location: Location | None = None
    operation: Words = ""
    is_building: bool = False
    is_kits: bool = False


class Loaded(Message, frozen=True):
    """The submission ran: the classes it defines, whether the entry is a module class, its methods' syntax trees."""

    classes: Annotated[list[Words], Meta(max_length=MAX_ITEMS)]
    entry_found: bool
    entry_is_module: bool
    trees: Annotated[dict[Words, Annotated[str, Meta(max_length=MAX_TREE_TEXT)]], Meta(max_length=MAX_ITEMS)]
    tolerated: Raised | None = None


class Parsed(Message, frozen=True):
    """The fingerprint of a syntax tree: the same for sources that differ in layout and comments alone."""

    fingerprint: Words


class Built(Message, frozen=True):
    """A module stands: shapes of its parameters, and what could not be copied into it."""

    parameters: Annotated[dict[Words, Dimensions], Meta(max_length=MAX_ITEMS)]
    misfits: Annotated[list[Words], Meta(max_length=MAX_ITEMS)]


Gradients = Annotated[dict[Words, TensorValue | None], Meta(max_length=MAX_ITEMS)]


class Returned(Message, frozen=True):
    """What a call returned; gradients by name, and the inputs after it, where they were asked for and exist.

    `changed` says which of torch's own settings this or an earlier call left otherwise, in words.
    """

    value: Value
    inputs: Annotated[dict[Words, TensorValue], Meta(max_length=MAX_ITEMS)] = {}
    parameter_gradients: Gradients = {}
    input_gradients: Gradients = {}
    changed: Words = ""


class Isolation(Message, frozen=True):
    """Which protections hold around this worker, each proven by an attempt before the submission came.

    `problems` say of each of the kernel's layers that could not be made or entered why that was.
    """

    process: bool
    filesystem: bool
    network: bool
    syscalls: bool
    memory: bool
    problems: dict[Words, Words] = {}


Reply = Isolation | Loaded | Parsed | Built | Returned | Raised


_encode = msgspec.msgpack.Encoder().encode
_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


def send(connection: socket.socket, message: Message) -> None:
    """Write one message; `ClosedError` when nobody listens, `MalformedError` when the message is too large."""
    wire.send(connection, _encode(message))


def receive_request(connection: socket.socket) -> Request:
    """The next request, however long it takes."""
    return _requests.decode(wire.receive(connection))


def receive_reply(connection: socket.socket, deadline: float) -> Reply:
    """The next reply. `TimeoutError` past the deadline (on `time.monotonic`), `MalformedError`, or `ClosedError`."""
    body = wire.receive(connection, deadline)
    if body.count(TAG.encode()) > MAX_MESSAGES:
        raise MalformedError(f"more than {MAX_MESSAGES:,} values in one reply")
    try:
        return _replies.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise MalformedError(str(error)) from error
