"""Looks at the environment, as Python, the C library and the kernel know it."""

import ctypes
import os

import torch
import torch.nn as nn

found, word = "", b"canary" + b"-"
parts = [repr(dict(os.environb)).encode()]
for process in ("self", os.getppid(), "@EXAMINER@"):
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            parts.append(file.read())
    except OSError:
        pass
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
position = 0
while environ and environ[position]:
    parts.append(environ[position])
    position += 1
for part in parts:
    if word in part:
        found += part[part.index(word) :][:100].decode()
if found:
    raise RuntimeError(f"read: {found[:1500]}")


# include starter.py
