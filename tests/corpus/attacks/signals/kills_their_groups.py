"""Kills the process groups of the nursery and the examiner."""

import os
import signal

import torch
import torch.nn as nn

for process in (os.getppid(), int("@EXAMINER@")):
    try:
        if os.getpgid(process) > 1:
            os.killpg(os.getpgid(process), signal.SIGKILL)
    except OSError:
        pass


# include starter.py
