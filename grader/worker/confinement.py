"""What a worker gives up before it sees a submission: descriptors, environment, working folder, resources."""

import ctypes
import io
import os
import signal
import sys
import tempfile
from typing import NamedTuple

from grader.worker.attempts import Outside, find_isolation
from grader.worker.identity import become_nobody, drop_capabilities
from grader.worker.layers import Layers, readable_folders
from grader.worker.protocol import Isolation

if os.name == "posix":
    import resource

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

KEPT_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/", "TMPDIR": "/"}


def control_process(option: int, value: int) -> None:
    """prctl(2) on Linux; nothing elsewhere."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def die_with_parent() -> None:
    """Be killed when the parent ends."""
    control_process(PR_SET_PDEATHSIG, signal.SIGKILL)


class Room(NamedTuple):
    """What a worker is confined to: the kernel's layers against what lies outside, and bytes of output and memory."""

    layers: Layers
    outside: Outside
    output_bytes: int
    memory_bytes: int


def confine(room: Room) -> Isolation:
    """Leave the caller with nothing it does not need; what turned out to hold."""
    forget_environment()
    os.environ.update(KEPT_ENVIRONMENT)
    os.chdir("/")
    sys.argv = ["attention"]
    sys.path[:] = [entry for entry in sys.path if entry.startswith((sys.prefix, sys.base_prefix))]
    sys.dont_write_bytecode = True
    tempfile.tempdir = "/"  # what only asks for a place, as torch's compiler does when it is imported, gets an answer
    _renew_streams()
    if os.name == "posix":
        _limit_resources(room.output_bytes, room.memory_bytes)
    become_nobody(readable_folders())
    drop_capabilities()
    die_with_parent()  # this and the next are cleared by new credentials, and seccomp forbids them
    control_process(PR_SET_DUMPABLE, 0)
    control_process(PR_SET_NO_NEW_PRIVS, 1)
    room.layers.enter()
    return find_isolation(room.outside)


def forget_environment() -> None:
    """Empty the environment and overwrite what it said: the strings stay in memory long after they are unset."""
    if os.name == "posix":
        strings = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
        position = 0
        while strings and (start := strings[position]):
            ctypes.memset(start, 0, len(ctypes.string_at(start)))
            position += 1
    for value in list(vars(os.environ).get("_data", {}).values()):
        if len(value) > 1:  # Python shares the objects of single bytes
            ctypes.memset(id(value) + sys.getsizeof(b"") - 1, 0, len(value))
    os.environ.clear()


def close_descriptors(keep: int) -> None:
    """Close everything but the three standard streams and one more."""
    highest = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, keep)
    os.closerange(keep + 1, highest)


def _renew_streams() -> None:
    """Text streams over the descriptors 0 to 2, with nothing left in their buffers from another life."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - they live as long as the process
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        raw = open(descriptor, "wb", closefd=False)  # noqa: SIM115
        stream = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace")
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _limit_resources(output_bytes: int, memory_bytes: int) -> None:
    if os.getsid(0) != os.getpid():
        os.setsid()
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, output_bytes)
    if sys.platform == "linux":
        _limit(resource.RLIMIT_AS, _address_space() + memory_bytes)


def _limit(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (value, value))


def _address_space() -> int:
    """Bytes of address space this process has mapped."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
