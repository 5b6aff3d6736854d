"""What a worker gives up before it sees a submission: descriptors, environment, working folder, resources."""

import contextlib
import ctypes
import faulthandler
import io
import os
import random
import signal
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from grader.sandbox.layers import PR_SET_DUMPABLE, Layers, is_readable, readable_folders
from grader.sandbox.protocol import MAX_TEXT, Isolation
from grader.sandbox.self_test import Outside, find_isolation
from grader.sandbox.text import cut, sendable

if os.name == "posix":
    import resource

FIRST_USER, USERS = 60_600, 500
"""Users that nobody has: systemd leaves these numbers unassigned, and a container's range holds them."""

MOST_TASKS = 256
"""Threads and processes of one worker. A user of its own makes this limit bind; root has none."""

PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
CAPABILITY_VERSION_3 = 0x20080522
OTHERS_MAY_SEARCH = 0o001

HOME = "/home/user"
ENVIRONMENT = {
    "HOME": HOME,
    "USER": "user",
    "LOGNAME": "user",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "PWD": HOME,
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
ARGUMENTS = ["train.py"]
"""What a module meets that is imported by somebody's script; nothing here says that it is being judged."""


def become_nobody(libraries: Iterable[str]) -> None:
    """Where this is root, be a user whom no other process on the machine belongs to.

    Such a worker can signal nobody, and its threads are counted. Where that user could not reach `libraries`, files are
    still opened as root; for everything else it counts as the other.
    """
    if sys.platform != "linux" or os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None)
    user = FIRST_USER + random.SystemRandom().randrange(USERS)
    are_public = all(map(_is_public, libraries))
    libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
    try:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    except OSError:
        return  # a container that knows a single user
    _limit(resource.RLIMIT_NPROC, MOST_TASKS)
    if not are_public:
        _use_capabilities(0xFFFFFFFF)
        libc.setfsgid(0)
        libc.setfsuid(0)


def drop_capabilities() -> None:
    """Give up every capability, so that being root means nothing."""
    if sys.platform == "linux":
        _use_capabilities(0)


def _is_public(folder: str) -> bool:
    """Whether everybody may look for files in the folder and in all that it lies in."""
    path = Path(folder)
    return not path.exists() or all(each.stat().st_mode & OTHERS_MAY_SEARCH for each in (path, *path.parents))


def _use_capabilities(mask: int) -> None:
    """Make effective those of the permitted capabilities that are in the mask, and give up the rest."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    held = (ctypes.c_uint32 * 6)()
    if libc.capget(header, held) == 0:
        low, high = held[1] & mask, held[4] & mask
        libc.capset(header, (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0))


def control_process(option: int, value: int) -> None:
    """prctl(2) on Linux; nothing elsewhere."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def die_with_parent() -> None:
    """Be killed when the parent ends."""
    control_process(PR_SET_PDEATHSIG, signal.SIGKILL)


class Sandbox(NamedTuple):
    """What a worker is confined to: the kernel's layers against what lies outside, and bytes of output and memory."""

    layers: Layers
    outside: Outside
    output_bytes: int
    memory_bytes: int


def confine(sandbox: Sandbox) -> Isolation:
    """Leave the caller with nothing it does not need; what turned out to hold."""
    _be_killed_first()
    forget_environment()
    os.environ.update(ENVIRONMENT)
    os.chdir(HOME if Path(HOME).is_dir() else "/")
    sys.argv = [*ARGUMENTS]
    sys.orig_argv[:] = ["python", *ARGUMENTS]
    sys.path[:] = [entry for entry in sys.path if is_readable(entry)]
    sys.dont_write_bytecode = True
    tempfile.tempdir = "/tmp"  # noqa: S108 - what only asks for a place gets an answer
    _renew_streams()
    _tell_where_on_signal()
    if os.name == "posix":
        _limit_resources(sandbox.output_bytes, sandbox.memory_bytes)
    become_nobody(readable_folders())
    drop_capabilities()
    die_with_parent()  # this and the next are cleared by new credentials, and seccomp forbids them
    control_process(PR_SET_DUMPABLE, 0)
    control_process(PR_SET_NO_NEW_PRIVS, 1)
    sandbox.layers.enter()
    problems = {layer: cut(sendable(told), MAX_TEXT) for layer, told in sandbox.layers.problems.items()}
    return structs.replace(find_isolation(sandbox.outside), problems=problems)


def _be_killed_first() -> None:
    """Where memory runs out on the machine, be what the kernel kills, rather than the examiner or anything else.

    The file that says so belongs to root while the memory is closed to others.
    """
    control_process(PR_SET_DUMPABLE, 1)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _tell_where_on_signal() -> None:
    """Have SIGUSR1 answered on stderr with the line that runs, whatever it is: the examiner asks before it kills."""
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=False)


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
        raw = open(descriptor, "wb", closefd=False)  # noqa: SIM115 - so does this one
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
