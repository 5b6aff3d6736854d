"""Landlock and seccomp around a worker. What the host lacks is left out.

The nursery prepares them once; each worker enters them after its last import. Whether they hold is not taken on trust:
`grader.worker.self_test` tries to break out.
"""

import errno
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo")
"""Folders that a worker may read besides the interpreter's and its environment's."""

FILES = ("/etc/ld.so.cache", "/dev/null", "/dev/urandom")
"""Single files that it may read."""

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
"""Everything else is refused with EPERM; opening, cloning, limits and the two below have rules of their own."""

FCNTL = (0, 1, 2, 3, 1030)
"""F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC. F_SETOWN is not among them: the kernel would send signals to
whatever process a worker names, in root's name where the worker is root."""

IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX; not FIOSETOWN, not TIOCSTI."""

F_SETFL = 4
SHARED_FLAGS = getattr(os, "O_DIRECT", 0) | getattr(os, "O_ASYNC", 0) | getattr(os, "O_NOATIME", 0)
"""What F_SETFL may not set: the examiner reads from the same open files."""

CLONE_THREAD = 0x00010000
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def readable_folders() -> tuple[str, ...]:
    """The folders that a worker may read: the interpreter's, its environment's, and the system's libraries."""
    return (sys.prefix, sys.base_prefix, *LIBRARIES)


class Layers:
    """What this host offers, made ready to be entered."""

    def __init__(self) -> None:
        self._landlock = _import("py_landlock")
        self._rules = _try(self._make_rules) if self._landlock else None
        self._seccomp = _import("pyseccomp")
        self._filter = _try(self._make_filter) if self._seccomp else None

    def enter(self) -> None:
        """Enter every layer. Nothing can be undone; what fails to hold is found by attempts, not here."""
        if self._rules is not None:
            _try(self._rules.apply)
        if self._filter is not None:
            _try(self._filter.load)

    def _make_rules(self) -> Any:
        """Read the interpreter, its environment and libraries; write nothing, no TCP, no signals outward."""
        self._landlock.get_abi_version()  # finds the C library, while there is a file system to look in
        rules = self._landlock.Landlock(strict=False)
        rules.allow_read(*filter(os.path.isdir, readable_folders()))
        rules.add_path_rule(*filter(os.path.exists, FILES), access=self._landlock.AccessFs.READ_FILE)
        return rules

    def _make_filter(self) -> Any:
        """An allowlist of system calls."""
        seccomp = self._seccomp
        rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
        for name in SYSCALLS:
            _try(partial(rules.add_rule, seccomp.ALLOW, name))
        reading = (seccomp.MASKED_EQ, WRITING, 0)
        rules.add_rule(seccomp.ALLOW, "openat", seccomp.Arg(2, *reading))
        _try(lambda: rules.add_rule(seccomp.ALLOW, "open", seccomp.Arg(1, *reading)))
        for name, position, values in (("fcntl", 1, FCNTL), ("ioctl", 1, IOCTL)):
            for value in values:
                rules.add_rule(seccomp.ALLOW, name, seccomp.Arg(position, seccomp.EQ, value))
        harmless = seccomp.Arg(2, seccomp.MASKED_EQ, SHARED_FLAGS, 0)
        rules.add_rule(seccomp.ALLOW, "fcntl", seccomp.Arg(1, seccomp.EQ, F_SETFL), harmless)
        rules.add_rule(seccomp.ALLOW, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, CLONE_THREAD, CLONE_THREAD))
        rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")  # glibc falls back to clone, whose flags can be seen
        rules.add_rule(seccomp.ALLOW, "prlimit64", seccomp.Arg(0, seccomp.EQ, 0), seccomp.Arg(2, seccomp.EQ, 0))
        return rules


def _import(name: str) -> Any:
    """A library for one layer; without it, or without what it stands on, that layer is lost and nothing else."""
    try:
        return __import__(name)
    except (ImportError, OSError, RuntimeError):
        return None


def _try(step: Callable[[], Any]) -> Any:
    """What the step returns; None where the host lacks what it needs."""
    try:
        return step()
    except Exception:  # noqa: BLE001 - libraries raise errors of their own; attempts tell what holds
        return None
