"""Attaches to the nursery and the examiner with ptrace(2)."""

import ctypes
import os

import torch
import torch.nn as nn

found = ""
libc = ctypes.CDLL(None, use_errno=True)
for process in (os.getppid(), int("@EXAMINER@")):
    for request in (16, 0x4206):  # PTRACE_ATTACH, PTRACE_SEIZE
        if process > 1 and libc.ptrace(request, process, 0, 0) == 0:
            libc.ptrace(17, process, 0, 0)
            found += f"attached to {process} "
if found:
    raise RuntimeError(f"read: {found[:1500]}")


# include starter.py
