"""Leaves a process behind that ignores every signal and has closed everything."""

import os
import signal
import time

import torch
import torch.nn as nn

try:
    if os.fork() == 0:
        for each in {*range(1, 65)} - {9, 19, 32, 33}:
            signal.signal(each, signal.SIG_IGN)
        os.closerange(0, 1024)
        while True:
            time.sleep(60)
except OSError:
    pass


# include starter.py
