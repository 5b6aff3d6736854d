"""Copies memory of the nursery and the examiner with process_vm_readv(2)."""

import ctypes
import os

import torch
import torch.nn as nn

found = ""
libc = ctypes.CDLL(None, use_errno=True)
ours = ctypes.create_string_buffer(64)
vector = (ctypes.c_void_p * 2)(ctypes.addressof(ours), 64)
for process in (os.getppid(), int("@EXAMINER@")):
    if process > 1 and libc.process_vm_readv(process, vector, 1, vector, 1, 0) > 0:
        found += f"copied from {process} "
if found:
    raise RuntimeError(f"read: {found[:1500]}")


# include starter.py
