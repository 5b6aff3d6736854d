"""Kills its own process group and session."""

import os
import signal

import torch
import torch.nn as nn

try:
    os.kill(0, signal.SIGKILL)
except OSError:
    pass


# include starter.py
