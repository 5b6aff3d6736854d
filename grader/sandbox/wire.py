"""The framing of all messages between processes: the size of a body in four bytes, big-endian, then the body in
msgpack.

The nursery, workers and examiner processes use it over sockets and pipes. Frames from a worker are not trusted: their
size is limited here, and `protocol.py` checks their bodies.
"""

import socket
import struct
import time
from collections.abc import Callable, Sequence

HEADER, MAX_FRAME_BYTES = struct.Struct(">I"), 64 * 1024 * 1024
MAX_READ_BYTES = 1 << 20


class MalformedError(Exception):
    """The received bytes are not a valid message."""


class ClosedError(Exception):
    """The other side has closed the connection."""


def frame(body: bytes) -> bytes:
    """Return the frame of a body; raise `MalformedError` if it is too large."""
    if len(body) > MAX_FRAME_BYTES:
        raise MalformedError(f"a message of {len(body):,} bytes is over the limit of {MAX_FRAME_BYTES:,}")
    return HEADER.pack(len(body)) + body


def read_frame(read: Callable[[int], bytes]) -> bytes:
    """Return the body of the next frame. `read(n)` returns at most n bytes, and none at the end.

    Raises `ClosedError` if the frame is cut short, `MalformedError` if it is too large.
    """
    (size,) = HEADER.unpack(_read_exactly(read, HEADER.size))
    if size > MAX_FRAME_BYTES:
        raise MalformedError(f"a frame announces {size:,} bytes; the limit is {MAX_FRAME_BYTES:,}")
    return _read_exactly(read, size)


def send(connection: socket.socket, body: bytes, descriptors: Sequence[int] = ()) -> None:
    """Send a frame, and over a Unix socket also descriptors. Raise `ClosedError` if the other side is gone."""
    content = frame(body)
    try:
        if descriptors:
            content = content[socket.send_fds(connection, [content], list(descriptors)) :]
        connection.sendall(content)
    except TimeoutError:
        raise
    except OSError as error:
        raise ClosedError(str(error)) from error


def receive(connection: socket.socket, deadline: float | None = None, kept: bytearray | None = None) -> bytes:
    """Return the next body.

    A `TimeoutError` may interrupt a frame. `kept` then holds its first bytes, with which the next call goes on. What
    has arrived by the deadline is read after it too, because this process may have waited for a processor.

    Raises `TimeoutError` after the deadline (on `time.monotonic`; without one, the connection's own timeout applies),
    `MalformedError` or `ClosedError`.
    """
    start = bytes(kept or b"")

    def read(size: int) -> bytes:
        nonlocal start
        if start:
            part, start = start[:size], start[size:]
            return part
        if deadline is not None:
            connection.settimeout(max(0.0, deadline - time.monotonic()))
        part = _received(lambda: connection.recv(size))
        if kept is not None:
            kept.extend(part)
        return part

    body = read_frame(read)
    if kept is not None:
        kept.clear()
    return body


def receive_with_descriptors(connection: socket.socket, most: int) -> tuple[bytes, list[int]]:
    """Return the next body with at most this many descriptors."""
    descriptors: list[int] = []

    def receive_part(size: int) -> bytes:
        part, more, _, _ = socket.recv_fds(connection, size, most)
        descriptors.extend(more)
        return part

    return read_frame(lambda size: _received(lambda: receive_part(size))), descriptors


def _received(receive_part: Callable[[], bytes]) -> bytes:
    """Receive from a socket; raise `ClosedError` for its errors, except `TimeoutError`."""
    try:
        return receive_part()
    except TimeoutError:
        raise
    except BlockingIOError:  # the deadline has passed, and nothing has arrived
        raise TimeoutError from None
    except OSError as error:
        raise ClosedError(str(error)) from error


def _read_exactly(read: Callable[[int], bytes], size: int) -> bytes:
    content = bytearray()
    while len(content) < size:
        part = read(min(size - len(content), MAX_READ_BYTES))
        if not part:
            raise ClosedError("the connection ended")
        content += part
    return bytes(content)
