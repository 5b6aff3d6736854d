"""Interrupts the nursery and the examiner, as Ctrl-C would."""

import os
import signal

import torch
import torch.nn as nn

for process in (os.getppid(), int("@EXAMINER@")):
    try:
        if process > 1:
            os.kill(process, signal.SIGINT)
    except OSError:
        pass


# include starter.py
