"""Starts a shell in a terminal of its own."""

import pty
import time

import torch
import torch.nn as nn

try:
    process, terminal = pty.fork()
    if process == 0:
        time.sleep(600)
except OSError:
    pass


# include starter.py
