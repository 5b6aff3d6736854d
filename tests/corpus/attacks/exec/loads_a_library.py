"""Loads a library from where it may have written one."""

import ctypes

import torch
import torch.nn as nn

for path in ("/tmp/attack-canary.so", "/proc/self/fd/1", "@COURSE@/attack-canary.so"):
    try:
        ctypes.CDLL(path)
    except OSError:
        pass


# include starter.py
