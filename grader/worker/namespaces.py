"""Namespaces around the nursery: workers see no process but their own kin, no network, and no file but libraries.

Entered once, before the first worker is forked, so that no worker pays for it. Each part is left out where the host
forbids it; `grader.worker.self_test` tells what holds.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

NEW_MOUNT, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PROCESS, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
WANTED = NEW_MOUNT | NEW_UTS | NEW_IPC | NEW_PROCESS | NEW_NETWORK
"""Flags of unshare(2). A user namespace is taken only where the rest is not to be had without one."""

MS_READ_ONLY, MS_NO_SUID, MS_NO_DEVICES, MS_NO_EXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_RECURSIVE, MS_PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
"""The number of pivot_root(2), which the C library has no function for."""

PR_SET_DUMPABLE = 4

SCAFFOLD = "/sys"
"""A folder that exists everywhere and holds no library: the new root is built there."""

TMPFS_OPTIONS = b"size=1m,mode=755"


def leave_namespaces() -> bool:
    """Leave the host's namespaces; whether the next process forked here is the first of a new process namespace."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None)
    user, group = os.geteuid(), os.getegid()
    ways = [WANTED, WANTED | NEW_USER] if os.geteuid() == 0 else [WANTED | NEW_USER]
    for flags in [*ways, *(way & ~NEW_PROCESS for way in ways)]:
        if libc.unshare(flags) == 0:
            if flags & NEW_USER:
                _keep_names(user, group)
            return bool(flags & NEW_PROCESS)
    return False


def _keep_names(user: int, group: int) -> None:
    """Be the same user and group inside as outside: one that a user namespace does not know may create no file there.

    The files that say so belong to root while the memory is closed to others.
    """
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    try:
        for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path(f"/proc/self/{name}").write_text(line, encoding="ascii")
    except OSError:
        pass
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def take_own_root(folders: Iterable[str], files: Iterable[str]) -> bool:
    """Have a root of one's own that holds these folders and files, read-only, and nothing else; whether it worked.

    Only in a mount namespace of one's own, as the first of a process namespace.
    """
    machine = os.uname().machine
    if machine not in PIVOT_ROOT:
        return False
    os.umask(0o022)
    try:
        _mount("none", "/", "", MS_RECURSIVE | MS_PRIVATE)  # from here on nothing is seen from outside
        _mount("tmpfs", SCAFFOLD, "tmpfs", MS_NO_SUID | MS_NO_DEVICES, TMPFS_OPTIONS)
        Path(f"{SCAFFOLD}/proc").mkdir()
        _mount("proc", f"{SCAFFOLD}/proc", "proc", MS_NO_SUID | MS_NO_DEVICES | MS_NO_EXEC)
        for folder in filter(os.path.isdir, folders):
            _show(Path(folder), lambda place: place.mkdir(exist_ok=True))
        for file in filter(os.path.exists, files):
            _show(Path(file), Path.touch)
        Path(f"{SCAFFOLD}/old").mkdir()
        _enter(PIVOT_ROOT[machine])
    except OSError:
        return False
    return True


def _enter(pivot_root: int) -> None:
    """Make the scaffold the root, and let go of the old one."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.chdir(SCAFFOLD)
    _require(libc.syscall(pivot_root, b".", b"old"))
    os.chdir("/")
    _require(libc.umount2(b"/old", MNT_DETACH))
    Path("/old").rmdir()
    _mount("none", "/", "", MS_REMOUNT | MS_BIND | MS_READ_ONLY | MS_NO_SUID | MS_NO_DEVICES)


def _show(path: Path, make_place: Callable[[Path], None]) -> None:
    """Let a folder or file be seen, read-only, in the scaffold under the path it has; a link is made again."""
    place = Path(f"{SCAFFOLD}{path}")
    if os.path.lexists(place):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        place.symlink_to(path.readlink())
        _show(path.resolve(), make_place)
        return
    make_place(place)
    _mount(str(path), str(place), "", MS_BIND | MS_RECURSIVE)
    locked = os.statvfs(place).f_flag & (MS_NO_SUID | MS_NO_DEVICES | MS_NO_EXEC)
    _mount("none", str(place), "", MS_REMOUNT | MS_BIND | MS_READ_ONLY | MS_NO_SUID | locked)


def _mount(source: str, target: str, kind: str, flags: int, options: bytes | None = None) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    _require(libc.mount(os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), options))


def _require(status: int) -> None:
    if status != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
