"""Writes a program into memory and runs it from there."""

import ctypes
import os

import torch
import torch.nn as nn

libc = ctypes.CDLL(None, use_errno=True)
handle = libc.syscall(319, b"attack-canary", 0)  # memfd_create
if handle >= 0:
    with open("/bin/true", "rb") as program:
        os.write(handle, program.read())
    libc.syscall(322, handle, b"", (ctypes.c_char_p * 2)(b"true", None), None, 0x1000)  # execveat


# include starter.py
