"""Try to break out, from inside a worker that has not seen its submission yet: what fails is closed."""

import ctypes
import errno
import os
import socket
from pathlib import Path
from typing import NamedTuple

from grader.sandbox.protocol import Isolation

SOMEWHERE_CLOSED = 9
"""A port (discard) where nobody listens: an open network refuses, a closed one is unreachable."""

WRITABLE_ELSEWHERE = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - where anybody may write unless confined
NOWHERE = "/grader-attempt/no/such/file"
READ_BYTES = 8

REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)
"""What closed doors answer. Anything else, such as too few descriptors or processes, shows nothing."""

ABSENT = (errno.ENOENT, errno.ESRCH, errno.EROFS)
"""What those answer that lead to nothing, or to nothing that can be written."""


class Outside(NamedTuple):
    """What must stay out of a worker's reach: the examiner's memory, the machine's root, the course's folders."""

    examiner: int
    root: tuple[int, int]
    secret_folders: tuple[str, ...]


def look_outside(secret_folders: tuple[str, ...] = ()) -> Outside:
    """What lies outside, as the parent of all workers sees it before it gives anything up."""
    return Outside(os.getppid(), _root(), secret_folders)


def find_isolation(outside: Outside) -> Isolation:
    """Which protections hold here and now."""
    has_own_root = _root() != outside.root
    cannot_read = has_own_root or (_cannot_list("/") and _cannot_change_modes())
    cannot_read = cannot_read and all(map(_cannot_list, outside.secret_folders))
    return Isolation(
        process=True,
        filesystem=cannot_read and not any(map(_can_write, WRITABLE_ELSEWHERE)),
        network=_cannot_connect() and _cannot_send() and (has_own_root or _cannot_open_local_sockets()),
        syscalls=_cannot_start_a_process(),
        memory=_cannot_read_memory(outside.examiner),
    )


def _root() -> tuple[int, int]:
    seen = Path("/").stat()
    return seen.st_dev, seen.st_ino


def _cannot_list(folder: str) -> bool:
    try:
        os.listdir(folder)
    except (PermissionError, FileNotFoundError):
        return True
    return False


def _cannot_change_modes() -> bool:
    """Landlock lets an owner change a file's mode and times; where the call is filtered, no file is looked for."""
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


def _cannot_connect() -> bool:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as attempt:
            attempt.settimeout(0.2)
            attempt.connect(("127.0.0.1", SOMEWHERE_CLOSED))
    except PermissionError:
        return True
    except OSError as error:
        return error.errno == errno.ENETUNREACH
    return False


def _cannot_send() -> bool:
    """Landlock closes TCP alone; a datagram needs nobody to listen."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attempt:
            attempt.connect(("127.0.0.1", SOMEWHERE_CLOSED))
    except PermissionError:
        return True
    except OSError as error:
        return error.errno == errno.ENETUNREACH
    return False


def _cannot_open_local_sockets() -> bool:
    """Those that lie in the file system, where no network namespace reaches."""
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
    """Neither through /proc nor with process_vm_readv."""
    if process == os.getpid():
        return True  # in a process namespace of its own the number means another
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
    ctypes.set_errno(0)  # a call that works leaves there what an earlier one wrote
    libc.process_vm_readv(process, ctypes.byref(vector), 1, ctypes.byref(vector), 1, 0)
    return ctypes.get_errno() in (errno.EPERM, errno.ENOSYS, errno.ESRCH)
