"""Starts a program with posix_spawn."""

import os

import torch
import torch.nn as nn

try:
    os.posix_spawn("/bin/sleep", ["sleep", "600"], {})
except OSError:
    pass


# include starter.py
