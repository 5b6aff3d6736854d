"""Confine a worker before it receives a submission: descriptors, environment, working folder, resources, layers."""

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
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from grader.sandbox.layers import PR_SET_DUMPABLE, Layers, is_readable, readable_folders
from grader.sandbox.protocol import MAX_TEXT, Isolation
from grader.sandbox.self_test import Outside, find_isolation
from grader.sandbox.text import cut, sendable

if os.name == "posix":
    import resource

FIRST_USER, USERS = 60_600, 500
"""Unused user ids: systemd does not assign them, and the usual range of a container includes them."""

MAX_TASKS = 256
"""The most threads and processes of one worker. The limit applies because the worker has its own user, not to root."""

M_PERTURB = -6
FILLING = 0xA5
"""The option of mallopt(3) that overwrites freed memory, and the byte from which the contents follow."""

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
"""The `sys.argv` of an ordinary script, which does not reveal that a submission is being judged."""


def become_nobody(libraries: Iterable[str]) -> None:
    """If this process is root, become a user that owns no other process on the machine.

    Such a worker cannot send signals, and the limit of threads applies to it. If that user could not reach
    `libraries`, the worker still opens files as root.
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
        return  # a container with a single user
    _limit(resource.RLIMIT_NPROC, MAX_TASKS)
    if not are_public:
        _use_capabilities(0xFFFFFFFF)
        libc.setfsgid(0)
        libc.setfsuid(0)


def drop_capabilities() -> None:
    """Give up every capability, so that root has no special rights."""
    if sys.platform == "linux":
        _use_capabilities(0)


def _is_public(folder: str) -> bool:
    """Return whether every user may search the folder and its parents."""
    path = Path(folder)
    return not path.exists() or all(each.stat().st_mode & OTHERS_MAY_SEARCH for each in (path, *path.parents))


def _use_capabilities(mask: int) -> None:
    """Make the permitted capabilities in the mask effective, and give up all others."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    held = (ctypes.c_uint32 * 6)()
    if libc.capget(header, held) == 0:
        low, high = held[1] & mask, held[4] & mask
        libc.capset(header, (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0))


def control_process(option: int, value: int) -> None:
    """Call prctl(2) on Linux; do nothing elsewhere."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def overwrite_freed_memory() -> None:
    """Make the C library overwrite memory when it is freed, so that a new tensor never shows an earlier text.

    Only glibc can do this; elsewhere nothing happens.
    """
    choose = getattr(ctypes.CDLL(None), "mallopt", None)
    if choose is not None:
        choose(M_PERTURB, FILLING)


def die_with_parent() -> None:
    """Make the kernel kill this process when its parent ends."""
    control_process(PR_SET_PDEATHSIG, signal.SIGKILL)


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """The confinement of a worker: the kernel's layers, what they must protect, and limits in bytes."""

    layers: Layers
    outside: Outside
    output_bytes: int
    memory_bytes: int


def confine(sandbox: Sandbox) -> Isolation:
    """Confine this process; return which protections hold."""
    secret_folders = sandbox.outside.secret_folders
    _be_killed_first()
    forget_environment()
    os.environ.update(ENVIRONMENT)
    os.chdir(HOME if Path(HOME).is_dir() else "/")
    sys.argv = [*ARGUMENTS]
    sys.orig_argv[:] = ["python", *ARGUMENTS]
    sys.path[:] = [entry for entry in sys.path if is_readable(entry, secret_folders)]
    sys.dont_write_bytecode = True
    tempfile.tempdir = "/tmp"  # noqa: S108 - finding a folder by writing to it would fail
    _renew_streams()
    _dump_stack_on_signal()
    if os.name == "posix":
        _limit_resources(sandbox.output_bytes, sandbox.memory_bytes)
    become_nobody(readable_folders(secret_folders))
    drop_capabilities()
    die_with_parent()  # new credentials reset this and the next, and seccomp forbids both
    control_process(PR_SET_DUMPABLE, 0)
    control_process(PR_SET_NO_NEW_PRIVS, 1)
    sandbox.layers.enter()
    problems = {layer: cut(sendable(reason), MAX_TEXT) for layer, reason in sandbox.layers.problems.items()}
    return structs.replace(find_isolation(sandbox.outside), problems=problems)


def _be_killed_first() -> None:
    """Make the kernel kill this process first if the machine runs out of memory.

    The file for this setting belongs to root while the process is undumpable, so it is made dumpable before.
    """
    control_process(PR_SET_DUMPABLE, 1)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _dump_stack_on_signal() -> None:
    """Write the stack to stderr on SIGUSR1, which the examiner sends before it kills a worker that hangs."""
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=False)


def forget_environment() -> None:
    """Empty the environment and overwrite its strings, which stay in memory after they are unset."""
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
    """Close all descriptors except the three standard streams and `keep`."""
    highest = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, keep)
    os.closerange(keep + 1, highest)


def _renew_streams() -> None:
    """Replace the standard streams by new ones with empty buffers."""
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


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def _address_space() -> int:
    """Return the bytes of address space that this process has mapped."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
