"""Starts threads until no more start, and then is the starter."""

import threading

import torch
import torch.nn as nn

threading.stack_size(64 * 1024)
started = 0
try:
    while started < 10_000:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        started += 1
except RuntimeError:
    pass


# include starter.py
