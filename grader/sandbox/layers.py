"""The kernel's sandbox layers around workers: Landlock, seccomp and namespaces. Unsupported layers are skipped.

The nursery enters the namespaces once, before the first worker is forked. Workers can reach only their own processes,
no network, and no files except libraries. The nursery prepares Landlock and seccomp, and each worker enters them
after its last import. `grader.sandbox.self_test` tries to break out, to verify that the layers work.
"""

import contextlib
import ctypes
import errno
import importlib.util
import os
import site
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo")
"""Folders that a worker may read, besides the libraries of the interpreter and its environment."""

IMPORTED = ("torch", "numpy", "typing_extensions", "sympy", "mpmath", "networkx", "jinja2", "markupsafe", "filelock")
"""Packages whose folders a worker may read in any location: torch, numpy and the packages that torch imports."""

LIBRARY_FOLDERS = ("lib", "lib64", "DLLs")
"""Library folders of an interpreter or environment; other folders of a prefix may contain the course."""

FILES = ("/etc/ld.so.cache", "/dev/null", "/dev/urandom")
"""Single files that a worker may read."""

SYSCALLS = (
    # memory
    *("brk", "madvise", "mincore", "mmap", "mprotect", "mremap", "munmap", "membarrier"),
    # descriptors that are open already, and files that Landlock lets be read
    *("read", "readv", "pread64", "preadv", "write", "writev", "close", "dup", "lseek"),
    *("fstat", "newfstatat", "stat", "lstat", "statx", "access", "faccessat", "faccessat2", "statfs", "fstatfs"),
    *("getdents64", "readlink", "readlinkat", "getcwd", "poll", "ppoll", "select", "pselect6"),
    *("recvfrom", "sendto", "recvmsg", "sendmsg"),
    # threads, signals to itself, time, randomness, identity
    *("futex", "set_robust_list", "get_robust_list", "rseq", "set_tid_address", "sched_yield", "sched_getaffinity"),
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "rt_sigtimedwait", "restart_syscall"),
    *("clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "times", "getrusage"),
    *("getrandom", "getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "uname", "sysinfo"),
    *("getrlimit", "getcpu", "exit", "exit_group"),
)
"""Allowed system calls; all others fail with EPERM. open, clone, prlimit64, fcntl and ioctl have separate rules."""

FCNTL = (0, 1, 2, 3, 1030)
"""F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC. F_SETOWN is not allowed: it makes the kernel send
signals to any process that a worker names, as root if the worker runs as root."""

IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX; not FIOSETOWN, not TIOCSTI."""

F_SETFL = 4
SHARED_FLAGS = getattr(os, "O_DIRECT", 0) | getattr(os, "O_ASYNC", 0) | getattr(os, "O_NOATIME", 0)
"""Flags that F_SETFL may not set: the examiner reads from the same open files."""

CLONE_THREAD = 0x00010000
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

NEW_MOUNT, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PROCESS, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
WANTED = NEW_MOUNT | NEW_UTS | NEW_IPC | NEW_PROCESS | NEW_NETWORK
"""Flags of unshare(2). A user namespace is added only if the others need one."""

MS_READ_ONLY, MS_NO_SUID, MS_NO_DEVICES, MS_NO_EXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_RECURSIVE, MS_PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
"""System call number of pivot_root(2), which has no function in the C library."""

PR_SET_DUMPABLE = 4

SCAFFOLD = "/sys"
"""Mount point of the new root: it exists on every machine and contains no library."""

EMPTY_FOLDERS = ("/home/user", "/tmp")  # noqa: S108 - read-only, like the whole root
"""Empty folders in the new root, which programs expect on every machine."""

TMPFS_OPTIONS = b"size=1m,mode=755"


@cache
def readable_folders(secret_folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders that a worker may read: the libraries of the interpreter, its environment and the system.

    Torch and numpy may be elsewhere: in the user site, on PYTHONPATH, in a folder that a .pth file names. The folders
    from which they and their dependencies are imported are readable too, except a folder that contains a secret folder
    or the home folder, or is inside a secret folder.

    Each folder is also listed by its resolved path. Folders inside a listed folder are omitted. The first call must
    find torch's files: call it before the file system closes.
    """
    prefixes = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    folders = [str(Path(prefix, name)) for prefix in prefixes for name in LIBRARY_FOLDERS]
    folders += [str(Path(os.__file__).parent), *site.getsitepackages(), *LIBRARIES]
    folders += [folder for folder in _imported_folders() if not _is_private(folder, secret_folders)]
    found: list[str] = []
    for folder in filter(os.path.isdir, [*folders, *map(os.path.realpath, folders)]):  # isdir never raises
        if not _lies_in(folder, found):
            found.append(folder)
    return tuple(found)


def _imported_folders() -> Iterator[str]:
    """Yield the folders that contain the packages in `IMPORTED`, and the packages' own folders, which may be links."""
    for name in IMPORTED:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):  # a module without a spec
            continue
        if spec is not None and spec.submodule_search_locations:
            for folder in spec.submodule_search_locations:
                yield from (str(Path(folder).parent), folder)
        elif spec is not None and spec.has_location and spec.origin:
            yield str(Path(spec.origin).parent)


def _is_private(folder: str, secret_folders: tuple[str, ...]) -> bool:
    """Return whether a folder contains a secret folder or the home folder, or is inside a secret folder."""
    real, *secrets = map(os.path.realpath, (folder, *secret_folders))
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - pathlib raises for a user without a home
    return _lies_in(real, secrets) or any(_lies_in(secret, [real]) for secret in (*secrets, home))


def is_readable(path: str, secret_folders: tuple[str, ...]) -> bool:
    """Return whether a path is one of the readable folders or inside one."""
    return _lies_in(path, readable_folders(secret_folders))


def _lies_in(path: str, folders: Iterable[str]) -> bool:
    within = os.path.normcase(path) + os.sep
    return any(within.startswith(os.path.normcase(folder) + os.sep) for folder in folders)


class Layers:
    """The layers that this host supports, ready to enter; `problems` says why a layer is unavailable."""

    def __init__(self, secret_folders: tuple[str, ...]) -> None:
        self.problems: dict[str, str] = {}
        self._secret_folders = secret_folders
        self._landlock = self._try("landlock", partial(__import__, "py_landlock"))
        self._rules = self._try("landlock", self._make_rules) if self._landlock else None
        self._seccomp = self._try("seccomp", partial(__import__, "pyseccomp"))
        self._filter = self._try("seccomp", self._make_filter) if self._seccomp else None

    def enter(self) -> None:
        """Enter every layer, irreversibly. The self-test, not this method, checks that the layers work."""
        if self._rules is not None:
            self._try("landlock", self._rules.apply)
        if self._filter is not None:
            self._try("seccomp", self._filter.load)

    def _try(self, layer: str, step: Callable[[], Any]) -> Any:
        """Return the step's result, or None if the host does not support it; only that layer is lost."""
        try:
            return step()
        except Exception as error:  # noqa: BLE001 - libraries raise their own errors; the self-test checks the layers
            self.problems.setdefault(layer, f"{type(error).__name__}: {error}")
            return None

    def _make_rules(self) -> Any:
        """Return the Landlock rules: read libraries; no writes, no TCP, no signals to outside processes."""
        self._landlock.get_abi_version()  # loads the C library while the file system is still visible
        rules = self._landlock.Landlock(strict=False)
        rules.allow_read(*readable_folders(self._secret_folders))
        rules.add_path_rule(*filter(os.path.exists, FILES), access=self._landlock.AccessFs.READ_FILE)
        return rules

    def _make_filter(self) -> Any:
        """Return the seccomp filter: an allowlist of system calls."""
        seccomp = self._seccomp
        rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
        for name in SYSCALLS:
            _add_if_known(rules, seccomp.ALLOW, name)
        reading = (seccomp.MASKED_EQ, WRITING, 0)
        rules.add_rule(seccomp.ALLOW, "openat", seccomp.Arg(2, *reading))
        _add_if_known(rules, seccomp.ALLOW, "open", seccomp.Arg(1, *reading))
        for name, position, values in (("fcntl", 1, FCNTL), ("ioctl", 1, IOCTL)):
            for value in values:
                rules.add_rule(seccomp.ALLOW, name, seccomp.Arg(position, seccomp.EQ, value))
        harmless = seccomp.Arg(2, seccomp.MASKED_EQ, SHARED_FLAGS, 0)
        rules.add_rule(seccomp.ALLOW, "fcntl", seccomp.Arg(1, seccomp.EQ, F_SETFL), harmless)
        rules.add_rule(seccomp.ALLOW, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, CLONE_THREAD, CLONE_THREAD))
        rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")  # glibc falls back to clone, whose flags can be filtered
        rules.add_rule(seccomp.ALLOW, "prlimit64", seccomp.Arg(0, seccomp.EQ, 0), seccomp.Arg(2, seccomp.EQ, 0))
        return rules


def _add_if_known(rules: Any, *rule: Any) -> None:
    """Add a rule; ignore a system call that this machine does not have."""
    with contextlib.suppress(Exception):
        rules.add_rule(*rule)


def leave_namespaces(problems: dict[str, str]) -> bool:
    """Leave the host's namespaces; return whether the next fork is the first process of a new PID namespace.

    If the host does not allow it, record the reason in `problems`.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    ways = [WANTED, WANTED | NEW_USER] if os.geteuid() == 0 else [WANTED | NEW_USER]
    for flags in [*ways, *(way & ~NEW_PROCESS for way in ways)]:
        if libc.unshare(flags) == 0:
            if flags & NEW_USER:
                _keep_names(user, group, problems)
            return bool(flags & NEW_PROCESS)
    problems["namespaces"] = f"unshare: {os.strerror(ctypes.get_errno())}"
    return False


def _keep_names(user: int, group: int, problems: dict[str, str]) -> None:
    """Map the user and group to themselves: a user without a mapping in the namespace cannot create files.

    The mapping files belong to root while the process is not dumpable, so it is made dumpable meanwhile. If they cannot
    be written, record the reason in `problems`.
    """
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    try:
        for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path(f"/proc/self/{name}").write_text(line, encoding="ascii")
    except OSError as error:
        problems["namespaces"] = f"a user without a name there: {error}"
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def take_own_root(folders: Iterable[str], files: Iterable[str], problems: dict[str, str]) -> bool:
    """Switch to a new read-only root with only these folders and files; return whether this worked.

    On failure, record the reason in `problems`. Call this only in a new mount namespace, as the first process of a new
    PID namespace.
    """
    machine = os.uname().machine
    if machine not in PIVOT_ROOT:
        problems.setdefault("namespaces", f"no separate root: pivot_root has no known number on {machine}")
        return False
    os.umask(0o022)
    try:
        _mount("none", "/", "", MS_RECURSIVE | MS_PRIVATE)  # later mounts are not visible outside
        _mount("tmpfs", SCAFFOLD, "tmpfs", MS_NO_SUID | MS_NO_DEVICES, TMPFS_OPTIONS)
        Path(f"{SCAFFOLD}/proc").mkdir()
        _mount("proc", f"{SCAFFOLD}/proc", "proc", MS_NO_SUID | MS_NO_DEVICES | MS_NO_EXEC)
        for folder in folders:
            _show(Path(folder), lambda place: place.mkdir(exist_ok=True))
        for file in filter(os.path.exists, files):
            _show(Path(file), Path.touch)
        for folder in EMPTY_FOLDERS:
            Path(f"{SCAFFOLD}{folder}").mkdir(parents=True, exist_ok=True)
        Path(f"{SCAFFOLD}/old").mkdir()
        _enter(PIVOT_ROOT[machine])
    except OSError as error:
        problems.setdefault("namespaces", f"no separate root: {error}")
        return False
    return True


def _enter(pivot_root: int) -> None:
    """Make the scaffold the root and unmount the old root."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.chdir(SCAFFOLD)
    _require(libc.syscall(pivot_root, b".", b"old"))
    os.chdir("/")
    _require(libc.umount2(b"/old", MNT_DETACH))
    Path("/old").rmdir()
    _mount("none", "/", "", MS_REMOUNT | MS_BIND | MS_READ_ONLY | MS_NO_SUID | MS_NO_DEVICES)


def _show(path: Path, make_place: Callable[[Path], None]) -> None:
    """Mount a folder or file read-only in the scaffold under its own path; copy a symbolic link as a link."""
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
