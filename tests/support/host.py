"""Run a command on a host that lacks a layer: `python tests/support/host.py --without landlock,seccomp -- COMMAND`.

A seccomp filter around the command answers the layer's own system calls as a kernel without it would. It refuses
nothing else, so it protects nothing itself.
"""

import errno
import os
import sys
from collections.abc import Sequence

import pyseccomp

PR_SET_SECCOMP = 22
NAMESPACE_FLAGS = (0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
"""CLONE_NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""

LAYERS = ("landlock", "seccomp", "namespaces")


def lose(layers: Sequence[str]) -> None:
    """Remove these layers from this process and from all processes that it starts."""
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    if "landlock" in layers:
        for name in ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"):
            rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), name)
    if "namespaces" in layers:
        for name in ("unshare", "setns"):
            rules.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
        for flag in NAMESPACE_FLAGS:
            rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
        rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    if "seccomp" in layers:
        rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "seccomp")
        rules.add_rule(pyseccomp.ERRNO(errno.EINVAL), "prctl", pyseccomp.Arg(0, pyseccomp.EQ, PR_SET_SECCOMP))
    if layers:
        rules.load()


def main() -> None:
    option, layers, separator, *command = sys.argv[1:]
    names = [name for name in layers.split(",") if name]
    assert (option, separator) == ("--without", "--"), __doc__
    assert set(names) <= set(LAYERS), f"the layers are {LAYERS}"
    lose(names)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
