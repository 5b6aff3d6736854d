"""Asks to outlive its parent, and takes orphans in."""

import ctypes
import os
import time

import torch
import torch.nn as nn

libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(1, 0, 0, 0, 0)  # PR_SET_PDEATHSIG
libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
try:
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
except OSError:
    pass


# include starter.py
