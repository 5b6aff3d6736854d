"""Makes shared memory, semaphores and files that have no name."""

import ctypes

import torch
import torch.nn as nn

libc = ctypes.CDLL(None, use_errno=True)
libc.shm_open(b"/attack-canary", 0o102, 0o600)
libc.syscall(29, 0x6361, 4096, 0o1600)  # shmget
libc.syscall(68, 0x6361, 0o1600)  # msgget
libc.syscall(319, b"attack-canary", 0)  # memfd_create


# include starter.py
