"""Try to break out of a worker before it receives its submission. A failed attempt proves a protection."""

import ctypes
import errno
import os
import socket
from pathlib import Path

from msgspec import Struct

from grader.sandbox.protocol import Isolation

SOMEWHERE_CLOSED = 9
"""A port (discard) on which nothing listens: an open network refuses the connection, a closed one is unreachable."""

WRITABLE_ELSEWHERE = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - writable for everybody unless confined
NOWHERE = "/grader-attempt/no/such/file"
READ_BYTES = 8

REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)
"""Errors that prove a protection. Other errors, such as a lack of descriptors or processes, prove nothing."""

ABSENT = (errno.ENOENT, errno.ESRCH, errno.EROFS)
"""Errors of paths and processes that do not exist or cannot be written."""


class Outside(Struct, frozen=True, kw_only=True):
    """Things outside the worker that it must not reach."""

    examiner: int
    """The examiner's process id."""
    root: tuple[int, int]
    """Device and inode of the machine's root."""
    secret_folders: tuple[str, ...]


def look_outside(secret_folders: tuple[str, ...] = ()) -> Outside:
    """Describe the outside. The parent of all workers calls this before it is confined."""
    return Outside(examiner=os.getppid(), root=_root(), secret_folders=secret_folders)


def find_isolation(outside: Outside) -> Isolation:
    """Attempt every escape and return which protections hold."""
    has_own_root = _root() != outside.root
    cannot_read = has_own_root or (_cannot_list("/") and _cannot_change_modes())
    cannot_read = cannot_read and all(map(_cannot_list, outside.secret_folders))
    return Isolation(
        process=True,
        filesystem=cannot_read and not any(map(_can_write, WRITABLE_ELSEWHERE)),
        network=_cannot_connect(socket.SOCK_STREAM)
        and _cannot_connect(socket.SOCK_DGRAM)  # Landlock blocks only TCP
        and (has_own_root or _cannot_open_local_sockets()),
        syscalls=_cannot_start_a_process(),
        memory=_cannot_read_memory(outside.examiner),
    )


def _root() -> tuple[int, int]:
    root = Path("/").stat()
    return root.st_dev, root.st_ino


def _cannot_list(folder: str) -> bool:
    try:
        os.listdir(folder)
    except (PermissionError, FileNotFoundError):
        return True
    return False


def _cannot_change_modes() -> bool:
    """Landlock lets owners change the mode and times of files. A filtered call fails before it looks for the file."""
    try:
        Path(NOWHERE).chmod(0)
    except PermissionError:
        return True
    except OSError:
        pass
    return False


def _can_write(folder: str) -> bool:
    path = f"{folder}/grader-attempt-{os.getpid()}"
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))
    except OSError as error:
        return error.errno not in (*REFUSED, *ABSENT)
    os.unlink(path)  # noqa: PTH108 - the worker has no use for pathlib
    return True


def _cannot_connect(kind: socket.SocketKind) -> bool:
    """Return whether no socket of a kind connects. A datagram socket connects although nothing listens."""
    try:
        with socket.socket(socket.AF_INET, kind) as attempt:
            attempt.settimeout(0.2)
            attempt.connect(("127.0.0.1", SOMEWHERE_CLOSED))
    except PermissionError:
        return True
    except OSError as error:
        return error.errno == errno.ENETUNREACH
    return False


def _cannot_open_local_sockets() -> bool:
    """Network namespaces do not block sockets in the file system."""
    try:
        socket.socket(socket.AF_UNIX).close()
    except OSError as error:
        return error.errno in REFUSED
    return False


def _cannot_start_a_process() -> bool:
    try:
        child = os.fork()
    except OSError as error:
        return error.errno in REFUSED
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return False


def _cannot_read_memory(process: int) -> bool:
    """Try /proc and process_vm_readv."""
    if process == os.getpid():
        return True  # in its own process namespace the id belongs to another process
    try:
        os.close(os.open(f"/proc/{process}/mem", os.O_RDONLY))
    except OSError as error:
        if error.errno not in (*REFUSED, *ABSENT):
            return False
    else:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    ours = ctypes.create_string_buffer(READ_BYTES)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(ours), READ_BYTES)
    ctypes.set_errno(0)  # a successful call does not reset it
    libc.process_vm_readv(process, ctypes.byref(vector), 1, ctypes.byref(vector), 1, 0)
    return ctypes.get_errno() in (errno.EPERM, errno.ENOSYS, errno.ESRCH)
