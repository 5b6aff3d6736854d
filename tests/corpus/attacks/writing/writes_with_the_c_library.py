"""Creates files with creat(2), mknod(2) and openat(2) as bare system calls."""

import ctypes

import torch
import torch.nn as nn

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(85, b"@COURSE@/attack-canary-creat", 0o600)
libc.syscall(133, b"@COURSE@/attack-canary-node", 0o10600, 0)
libc.syscall(257, -100, b"@COURSE@/attack-canary-openat", 0o102, 0o600)
libc.syscall(257, -100, b"/tmp", 0o20200002, 0o600)  # O_TMPFILE


# include starter.py
