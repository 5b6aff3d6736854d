"""Who a worker is to the kernel: a user of its own where the examiner is root, and without capabilities always."""

import ctypes
import os
import random
import sys
from collections.abc import Iterable
from pathlib import Path

if os.name == "posix":
    import resource

FIRST_USER, USERS = 60_600, 500
"""Users that nobody has: systemd leaves these numbers unassigned, and a container's range holds them."""

MOST_TASKS = 256
"""Threads and processes of one worker. A user of its own makes this limit bind; root has none."""

PR_SET_KEEPCAPS = 8
CAPABILITY_VERSION_3 = 0x20080522
OTHERS_MAY_SEARCH = 0o001


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
    _limit_tasks()
    if not are_public:
        _use_capabilities(0xFFFFFFFF)
        libc.setfsgid(0)
        libc.setfsuid(0)


def drop_capabilities() -> None:
    """Give up every capability, so that being root means nothing."""
    if sys.platform == "linux":
        _use_capabilities(0)


def _limit_tasks() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = MOST_TASKS if hard == resource.RLIM_INFINITY else min(MOST_TASKS, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


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
