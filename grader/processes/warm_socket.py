"""Where a course's warm process listens, and the messages between it and its clients.

A warm process is an examiner that stays after a command and answers the next ones. Only a client with the same user,
course, kit, Python, torch and settings finds its socket, because the name is a digest of all of them. This module
imports only what every client needs, since a client must start in hundredths of a second.

A client connects and sends a `CommandRequest` with its three standard streams. The process answers `ACCEPTED`; the
client answers `GO` if it is still waiting; the process runs the command on the client's streams and answers `DONE` with
the exit code, or `COLD` if the client must do without it.
"""

import array
import hashlib
import os
import socket
import stat
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping

SETTINGS = ("PYTHON", "LD_", "LC_", "LANG", "GRADER_", "MALLOC_", "OMP_", "MKL_", "KMP_", "TORCH")
"""Beginnings of the names of variables that a process reads once, when it starts."""

KIT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COURSE_DIGITS = 16
SOCKET_SUFFIX, LOCK_SUFFIX = ".socket", ".lock"
LONGEST_PATH = 100
"""Linux limits the path of a socket to 107 bytes."""

RUN_REQUEST, STOP_REQUEST = b"R", b"S"
ACCEPTED, GO, DONE, COLD = b"A", b"G", b"D", b"C"

STREAMS = 3
ALL_MODES = 0o777
MAX_MESSAGE_BYTES = 1 << 20
"""The most that a message may contain."""

_HEADER = struct.Struct("!cI")
_COUNTS = struct.Struct("!III")
_PEER = struct.Struct("3i")


class CommandRequest:
    """A command: its arguments, and the folder, environment and file mode mask in which it was typed."""

    def __init__(self, arguments: list[str], folder: str, environment: Mapping[str, str], umask: int) -> None:
        self.arguments = arguments
        self.folder = folder
        self.environment = environment
        self.umask = umask

    def encode(self) -> bytes:
        """Return the request as bytes, which `decode` reads."""
        parts = [self.folder, *self.arguments, *(f"{name}={value}" for name, value in self.environment.items())]
        counts = _COUNTS.pack(self.umask, len(self.arguments), len(self.environment))
        return counts + b"\0".join(map(os.fsencode, parts))

    @classmethod
    def decode(cls, body: bytes) -> "CommandRequest":
        """Return the request in the bytes; raise `ValueError` if they contain none."""
        if len(body) < _COUNTS.size:
            raise ValueError("too short")
        umask, arguments, variables = _COUNTS.unpack(body[: _COUNTS.size])
        folder, *parts = map(os.fsdecode, body[_COUNTS.size :].split(b"\0"))
        if len(parts) != arguments + variables or umask > ALL_MODES:
            raise ValueError("not a request")
        pairs = [each.partition("=") for each in parts[arguments:]]
        return cls(parts[:arguments], folder, {name: value for name, _, value in pairs if name}, umask)


def send_message(connection: socket.socket, kind: bytes, body: bytes = b"", descriptors: tuple[int, ...] = ()) -> None:
    """Send a message; raise `OSError` if the peer is gone or does not read."""
    if len(body) > MAX_MESSAGE_BYTES:
        raise OSError("the message is too long")
    data = _HEADER.pack(kind, len(body)) + body
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    sent = connection.sendmsg([data], ancillary)
    connection.sendall(data[sent:])


def receive_message(connection: socket.socket) -> tuple[bytes, bytes, list[int]]:
    """Return a message's kind, its body and its descriptors. Raise `OSError` if it does not arrive whole in time."""
    descriptors = array.array("i")
    space = socket.CMSG_SPACE(STREAMS * descriptors.itemsize)
    data, ancillary, _, _ = connection.recvmsg(_HEADER.size, space, socket.MSG_CMSG_CLOEXEC)
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
    try:
        kind, length = _HEADER.unpack(data + _receive(connection, _HEADER.size - len(data)))
        return kind, _receive(connection, length), list(descriptors)
    except OSError:
        for descriptor in descriptors:
            os.close(descriptor)
        raise


def _receive(connection: socket.socket, length: int) -> bytes:
    if length > MAX_MESSAGE_BYTES:
        raise OSError("the message is too long")
    received = b""
    while len(received) < length:
        part = connection.recv(min(length - len(received), 1 << 16))
        if not part:
            raise OSError("the peer is gone")
        received += part
    return received


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """Return the process id and the user id at the other end; for a client, of the process that listens."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    process, user, _ = _PEER.unpack(credentials)
    return process, user


def own_folder() -> str | None:
    """Return the folder of this user's sockets, which may be missing; None if somebody else could enter it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime) and is_private(runtime):
        folder = f"{runtime}/grader"
    else:
        folder = f"{os.environ.get('TMPDIR') or '/tmp'}/grader-{os.getuid()}"  # noqa: S108 - only this user enters it
    is_absent = not os.path.lexists(folder)
    return folder if os.path.isabs(folder) and (is_absent or is_private(folder)) else None


def is_private(folder: str) -> bool:
    """Return whether a folder exists that only this user can enter."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


def socket_path(folder: str, course: str) -> str | None:
    """Return the path of the socket of the course's warm process; None if it would be too long.

    The name consists of a digest of the course, and a digest of everything else that must agree.
    """
    name = f"{_digest([course])[:COURSE_DIGITS]}-{_digest(_surroundings())}"
    path = f"{folder}/{name}{SOCKET_SUFFIX}"
    return path if len(os.fsencode(path)) <= LONGEST_PATH else None


def lock_path(path: str) -> str:
    """Return the path of the lock that the course's warm process holds, whatever its kit."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{name.partition('-')[0]}{LOCK_SUFFIX}"


def _surroundings() -> Iterator[str]:
    """Yield the user, Python, torch, settings and kit."""
    yield f"{os.getuid()} {sys.version} {sys.executable} {sys.prefix} {sys.flags}"
    yield from sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(SETTINGS))
    yield from _stamps_of_torch()
    yield from _stamps_of_code(KIT)


def _stamps_of_torch() -> Iterator[str]:
    for entry in sys.path:
        try:
            status = os.stat(f"{entry}/torch/version.py")
        except (OSError, ValueError):
            continue
        yield f"{entry} {status.st_size} {status.st_mtime_ns}"
        return


def _stamps_of_code(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.name.startswith(".") or entry.name == "__pycache__":
                continue
            if entry.is_dir():
                yield from _stamps_of_code(entry.path)
            else:
                status = entry.stat()
                yield f"{entry.path} {status.st_size} {status.st_mtime_ns} {status.st_ino}"


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256(b"\0".join(map(os.fsencode, parts))).hexdigest()[: 2 * COURSE_DIGITS]


def is_stopped(process: int) -> bool:
    """Return whether a process is suspended, as by SIGSTOP, or has ended."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            state = file.read().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state in (b"T", b"t", b"Z", b"X")
